import SheafBytes
import SheafDocument
import SheafQuery

/// The observed results of a store, indexed by the documents that may affect them.
struct ObserverIndex {
    /// The results that read one collection.
    struct ResultIndex {
        /// Results that require one id, by that id.
        fileprivate var byID: [[UInt8]: [ObservedResult]] = [:]
        /// Results that require a value of a field, by the path of the field.
        fileprivate var byField: [[[UInt8]]: ByValue] = [:]
        /// All other results.
        fileprivate var others: [ObservedResult] = []

        /// Whether a document may affect a result, judging by its id alone.
        func mayMatch(id: ArraySlice<UInt8>) -> Bool {
            !others.isEmpty || !byField.isEmpty || byID[Array(id)] != nil
        }
    }

    fileprivate struct ByValue {
        let path: [String]
        var results: [[UInt8]: [ObservedResult]] = [:]
    }

    /// Results by the bytes of collection names; `String` equality ignores Unicode normalization.
    private var collections: [[UInt8]: ResultIndex] = [:]

    /// Returns the results that read a collection; nil if there are none.
    func results(of collection: String) -> ResultIndex? { collections[Array(collection.utf8)] }

    /// Adds a result under each key that its observed changes require.
    mutating func add(_ live: ObservedResult) {
        forEachList(of: live) { $0.append(live) }
    }

    /// Removes a result whose observed changes are the same as when it was added.
    mutating func remove(_ live: ObservedResult) {
        forEachList(of: live) { list in list.removeAll { $0 === live } }
    }

    private mutating func forEachList(
        of live: ObservedResult, _ body: (inout [ObservedResult]) -> Void
    ) {
        switch live.observedChanges {
        case .select(let definition, let collection):
            let name = Array(collection.utf8)
            Self.forEachList(
                of: definition, in: &collections[name, default: ResultIndex()], body)
        case .collections(let names, _):
            for name in Set(names.map { Array($0.utf8) }) {
                body(&collections[name, default: ResultIndex()].others)
            }
        case .system: return
        }
    }

    /// Calls `body` with the list for the result of a SELECT; removes a list that becomes empty.
    private static func forEachList(
        of watched: IncrementalViewDefinition, in results: inout ResultIndex,
        _ body: (inout [ObservedResult]) -> Void
    ) {
        switch watched.handle {
        case .document(let id):
            body(&results.byID[id, default: []])
            if results.byID[id]?.isEmpty == true { results.byID[id] = nil }
        case .field(let path, let value):
            let names = path.map { Array($0.utf8) }
            body(&results.byField[names, default: ByValue(path: path)].results[value, default: []])
            if results.byField[names]?.results[value]?.isEmpty == true {
                results.byField[names]?.results[value] = nil
            }
            if results.byField[names]?.results.isEmpty == true { results.byField[names] = nil }
        case .none:
            body(&results.others)
        }
    }
}

extension ObserverIndex.ResultIndex {
    /// Passes each result that a document may affect to `body`.
    ///
    /// Throws if a field that is used for lookup is damaged: the affected results are then unknown.
    func forEachCandidate(
        _ images: DocumentImages, id: ArraySlice<UInt8>, _ names: NameTable,
        _ body: (ObservedResult) -> Void
    ) throws(Malformed) {
        if !byID.isEmpty, let found = byID[Array(id)] {
            for live in found { body(live) }
        }
        for byValue in byField.values {
            let field = FieldPath(byValue.path, in: names)
            let before = try Self.identity(field, images.before, names)
            let after = try Self.identity(field, images.after, names)
            if let before, let found = byValue.results[before] { for live in found { body(live) } }
            guard let after, after != before, let found = byValue.results[after] else { continue }
            for live in found { body(live) }
        }
        for live in others { body(live) }
    }

    /// Returns the lookup key of a field; nil if the field is missing.
    private static func identity(
        _ field: FieldPath, _ document: ScannedDocument?, _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        guard let document, let value = try field.value(in: document.fields, names) else {
            return nil
        }
        return SortKey.identity(of: value)
    }
}
