import SheafBytes
package import SheafDocument

/// The inputs of an expression: a row of each source, variables, group keys and aggregates.
///
/// A run of a statement uses one for all rows.
package final class RowContext {
    /// The row of each source, in the order of FROM and the joins.
    ///
    /// Not an array: each access to a field would pay for an exclusivity check.
    package let rows: UnsafeMutablePointer<Row>
    private let sourceCount: Int
    /// Variables of quantifiers and comprehensions.
    var variables: [Value?]
    /// Current nesting of loops, and the number of steps taken by all of them.
    var loopDepth = 0
    var loopSteps = 0
    /// Keys of the current group, and results of its aggregates.
    var groups: [Value?] = []
    var aggregates: [Value?] = []
    package let names: NameTable
    /// The arguments of the run, for conditions that bind them late.
    let arguments: ArgumentValues
    let context: FunctionContext

    package init(
        sourceCount: Int, variableCount: Int, names: NameTable, context: FunctionContext,
        arguments: ArgumentValues = ArgumentValues()
    ) {
        rows = .allocate(capacity: sourceCount)
        rows.initialize(repeating: Row(), count: sourceCount)
        self.sourceCount = sourceCount
        variables = Array(repeating: nil, count: variableCount)
        self.names = names
        self.arguments = arguments
        self.context = context
    }

    deinit {
        rows.deinitialize(count: sourceCount)
        rows.deallocate()
    }
}

/// A row of a source; the bytes of a document are valid while the row is current.
package struct Row {
    /// The encoded fields of a document.
    package let fields: EncodedObject?
    /// The content if there are no encoded fields; nil in a row that an outer join adds for a
    /// missing partner.
    let content: RowContent?
    /// The encoded id of the document; nil if the row contains its own id.
    package let id: UnsafeRawBufferPointer?
    /// Whether the bytes remain valid until the store is closed.
    let isLasting: Bool
    /// Record pointer of the document; zero if unknown.
    let position: UInt64

    package init() {
        fields = nil
        content = nil
        id = nil
        isLasting = true
        position = 0
    }

    init(_ document: ScannedDocument) {
        fields = document.fields
        content = nil
        id = document.id
        isLasting = document.isLasting
        position = document.position
    }

    init(_ fields: EncodedObject, id: UnsafeRawBufferPointer, position: UInt64) {
        self.fields = fields
        content = nil
        self.id = id
        isLasting = true
        self.position = position
    }

    package init(_ object: Object) {
        fields = nil
        content = ObjectRow(object)
        id = nil
        isLasting = true
        position = 0
    }

    /// Creates the row of the current entry of a scan.
    init(_ entry: EntryRow, position: UInt64) {
        fields = nil
        content = entry
        id = entry.id
        isLasting = false
        self.position = position
    }

    package static let idName = "_id"

    /// Returns the value of `_id`.
    func idValue() throws(StoreError) -> Value? {
        guard let id else { return try content?.value(at: [Self.idName]) }
        return try onDocument(at: position) { () throws(Malformed) in try DocumentID.id(of: id) }
    }
}

/// Runs a body that reads a document; reports malformed bytes as damage with its position.
func onDocument<Result>(
    at position: UInt64, _ body: () throws(Malformed) -> Result
) throws(StoreError) -> Result {
    do throws(Malformed) { return try body() } catch {
        throw StoreError(error, document: position)
    }
}

extension Row {
    /// Returns the complete document with its id, as a statement with these types sees it.
    func object(_ types: FieldTypes, _ names: NameTable) throws(StoreError) -> Object? {
        guard let fields else { return try content?.object() }
        var object = try onDocument(at: position) { () throws(Malformed) in
            try types.value(of: fields, names)
        }
        object[Self.idName] = try idValue()
        return object
    }
}
