import SheafBytes
import SheafDocument
import SheafQuery

/// The observed results of a store, indexed by the documents that may affect them.
struct ObserverIndex {
    /// The results that read one collection.
    struct Watchers {
        /// Results that require one id, by that id.
        fileprivate var byID: [[UInt8]: [LiveResult]] = [:]
        /// Results that require a value of a field, by the path of the field.
        fileprivate var byField: [[[UInt8]]: ByValue] = [:]
        /// All other results.
        fileprivate var others: [LiveResult] = []

        /// Whether a document may affect a result, judging by its id alone.
        func mayCare(for id: ArraySlice<UInt8>) -> Bool {
            !others.isEmpty || !byField.isEmpty || byID[Array(id)] != nil
        }
    }

    fileprivate struct ByValue {
        let path: [String]
        var lives: [[UInt8]: [LiveResult]] = [:]
    }

    /// By the bytes of names, because `String` equality ignores Unicode normalization.
    private var collections: [[UInt8]: Watchers] = [:]

    /// Returns the results that read a collection; nil if there are none.
    func watchers(of collection: String) -> Watchers? { collections[Array(collection.utf8)] }

    /// Adds a result under each key that its watch requires.
    mutating func add(_ live: LiveResult) {
        forEachPlace(of: live) { $0.append(live) }
    }

    /// Removes a result whose watch has not changed since it was added.
    mutating func remove(_ live: LiveResult) {
        forEachPlace(of: live) { list in list.removeAll { $0 === live } }
    }

    private mutating func forEachPlace(
        of live: LiveResult, _ body: (inout [LiveResult]) -> Void
    ) {
        switch live.watch {
        case .select(let watched, let collection):
            let name = Array(collection.utf8)
            Self.forEachPlace(
                of: watched, in: &collections[name, default: Watchers()], body)
        case .collections(let names, _):
            for name in Set(names.map { Array($0.utf8) }) {
                body(&collections[name, default: Watchers()].others)
            }
        case .system: return
        }
    }

    /// Calls `body` with the list of a select; removes lists left empty, lest they accumulate.
    private static func forEachPlace(
        of watched: IncrementalViewDefinition, in watchers: inout Watchers,
        _ body: (inout [LiveResult]) -> Void
    ) {
        switch watched.handle {
        case .document(let id):
            body(&watchers.byID[id, default: []])
            if watchers.byID[id]?.isEmpty == true { watchers.byID[id] = nil }
        case .field(let path, let value):
            let names = path.map { Array($0.utf8) }
            body(&watchers.byField[names, default: ByValue(path: path)].lives[value, default: []])
            if watchers.byField[names]?.lives[value]?.isEmpty == true {
                watchers.byField[names]?.lives[value] = nil
            }
            if watchers.byField[names]?.lives.isEmpty == true { watchers.byField[names] = nil }
        case .none:
            body(&watchers.others)
        }
    }
}

extension ObserverIndex.Watchers {
    /// Passes the results that a document may affect to `body`, some of them possibly twice.
    ///
    /// Throws if a field that is used for lookup is damaged: the affected results are then unknown.
    func forEachCandidate(
        _ images: DocumentImages, id: ArraySlice<UInt8>, _ names: NameTable,
        _ body: (LiveResult) -> Void
    ) throws(Malformed) {
        if !byID.isEmpty, let found = byID[Array(id)] {
            for live in found { body(live) }
        }
        for byValue in byField.values {
            let field = FieldPath(byValue.path, in: names)
            let before = try Self.identity(field, images.before, names)
            let after = try Self.identity(field, images.after, names)
            if let before, let found = byValue.lives[before] { for live in found { body(live) } }
            guard let after, after != before, let found = byValue.lives[after] else { continue }
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
