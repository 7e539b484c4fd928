import SheafBytes
import SheafDocument
import SheafQuery

/// Finds those whose results a changed document may concern, without asking each of them.
struct ObserverIndex {
    /// Those who watch one collection.
    struct Watchers {
        /// By the id that they ask for.
        fileprivate var byID: [[UInt8]: [LiveResult]] = [:]
        /// By the value of a field that they ask for.
        fileprivate var byField: [[[UInt8]]: ByValue] = [:]
        /// All others.
        fileprivate var others: [LiveResult] = []

        /// Whether a document may concern somebody, as far as its id tells.
        func mayCare(for id: ArraySlice<UInt8>) -> Bool {
            !others.isEmpty || !byField.isEmpty || byID[Array(id)] != nil
        }
    }

    fileprivate struct ByValue {
        let path: [String]
        var lives: [[UInt8]: [LiveResult]] = [:]
    }

    /// By the bytes of their names: texts are equal that are spelled differently.
    private var collections: [[UInt8]: Watchers] = [:]

    /// Those who watch a collection; none where nobody does.
    func watchers(of collection: String) -> Watchers? { collections[Array(collection.utf8)] }

    mutating func add(_ live: LiveResult) {
        forEachPlace(of: live) { $0.append(live) }
    }

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

    /// Lists are dropped with their last member, or ids that come and go would stay for ever.
    private static func forEachPlace(
        of watched: WatchedSelect, in watchers: inout Watchers,
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
    /// Shows those to `body` whom a document may concern; somebody can be shown twice.
    ///
    /// Where a field is damaged by which some are found, nobody knows whom it concerns.
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

    /// What a field is looked up by; none where it is missing.
    private static func identity(
        _ field: FieldPath, _ document: ScannedDocument?, _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        guard let document, let value = try field.value(in: document.fields, names) else {
            return nil
        }
        return SortKey.identity(of: value)
    }
}
