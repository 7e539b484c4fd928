import SheafBytes
package import SheafDocument

/// What expressions read while they are evaluated: a row of each source, and what is bound.
///
/// One is made for each run of a statement, and used for all its rows.
package final class Frame {
    /// The row of each source, in the order of FROM and the joins.
    ///
    /// Not an array: every field that is read would ask whether somebody else changes it.
    package let rows: UnsafeMutablePointer<Row>
    private let sourceCount: Int
    /// What comprehensions have bound.
    var variables: [Value?]
    /// How many loops lie in one another here, and how many steps all of them have taken.
    var loopDepth = 0
    var loopSteps = 0
    /// The values of GROUP BY, and the results of the aggregates.
    var groups: [Value?] = []
    var aggregates: [Value?] = []
    package let names: NameTable
    let context: FunctionContext

    package init(
        sourceCount: Int, variableCount: Int, names: NameTable, context: FunctionContext
    ) {
        rows = .allocate(capacity: sourceCount)
        rows.initialize(repeating: Row(), count: sourceCount)
        self.sourceCount = sourceCount
        variables = Array(repeating: nil, count: variableCount)
        self.names = names
        self.context = context
    }

    deinit {
        rows.deinitialize(count: sourceCount)
        rows.deallocate()
    }
}

/// A document of a source, as expressions see it; the bytes are valid while it is the row.
package struct Row {
    package enum Content {
        /// The empty side of an outer join.
        case absent
        case encoded(EncodedObject)
        /// A row that no document stands behind, or one that has been read.
        case value(Object)
    }

    /// The fields of a document in its bytes.
    package let fields: EncodedObject?
    /// What there is instead.
    private let object: Box?
    /// The bytes of the id, as keys have them; none for rows that bring theirs along.
    package let id: UnsafeRawBufferPointer?
    /// Whether the bytes are valid as long as the store.
    let isLasting: Bool
    /// What tells the document from all others; zero where that is not known.
    let place: UInt64

    /// So a row of bytes costs nothing to copy.
    private final class Box {
        let value: Object

        init(_ value: Object) {
            self.value = value
        }
    }

    package var content: Content {
        if let fields { return .encoded(fields) }
        return object.map { .value($0.value) } ?? .absent
    }

    package init() {
        fields = nil
        object = nil
        id = nil
        isLasting = true
        place = 0
    }

    init(_ document: ScannedDocument) {
        fields = document.fields
        object = nil
        id = document.id
        isLasting = document.isLasting
        place = document.place
    }

    init(_ fields: EncodedObject, id: UnsafeRawBufferPointer, place: UInt64) {
        self.fields = fields
        object = nil
        self.id = id
        isLasting = true
        self.place = place
    }

    package init(_ object: Object) {
        fields = nil
        self.object = Box(object)
        id = nil
        isLasting = true
        place = 0
    }

    package static let idName = "_id"

    /// The value of `_id`.
    func idValue() throws(QueryError) -> Value? {
        guard let id else {
            if case .value(let object) = content { return object[Self.idName] }
            return nil
        }
        return try onDocument(at: place) { () throws(Malformed) in try DocumentID.id(of: id) }
    }
}

/// Runs what reads the bytes of the document at a place.
func onDocument<Result>(
    at place: UInt64, _ body: () throws(Malformed) -> Result
) throws(QueryError) -> Result {
    do throws(Malformed) { return try body() } catch {
        throw QueryError(.damaged, "a document is damaged: \(error)", document: place)
    }
}

extension Row {
    /// The whole document with its id, as a statement with these types sees it.
    func object(_ types: FieldTypes, _ names: NameTable) throws(QueryError) -> Object? {
        switch content {
        case .absent: return nil
        case .value(let object): return object
        case .encoded(let fields):
            var object = try onDocument(at: place) { () throws(Malformed) in
                try types.value(of: fields, names)
            }
            object[Self.idName] = try idValue()
            return object
        }
    }
}
