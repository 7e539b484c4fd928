import SheafBytes
import Synchronization

/// A decoder of `Decodable` types from encoded documents, without intermediate values.
package struct DocumentDecoder {
    /// The name of the field that holds the id, which is part of no document.
    package static let idName = "_id"

    private let names: NameTable
    private let coding: ValueCoding

    private let guess: NameGuess?

    package init(
        _ names: NameTable, coding: ValueCoding = ValueCoding(), guess: NameGuess? = nil
    ) {
        self.names = names
        self.coding = coding
        self.guess = guess
    }

    /// Decodes the visible content of a document.
    ///
    /// Throws `DecodingError`, and `Malformed` for a damaged document.
    package func decode<T: Decodable>(
        _ type: T.Type, from document: EncodedDocument
    ) throws -> T {
        guard try document.exists() else {
            return try ValueDecoder(coding: coding).decode(type, from: .null)
        }
        let loan = DocumentLoan(names, coding)
        defer { loan.end() }
        return try EntryDecoding(document.root, loan, nil, depth: 0).decode(type)
    }

    /// Decodes the fields of a document, and its encoded id as the field `_id`.
    package func decode<T: Decodable>(
        _ type: T.Type, from fields: EncodedObject, id: UnsafeRawBufferPointer
    ) throws -> T {
        let loan = DocumentLoan(names, coding, root: fields, id: id, guess)
        defer { loan.end() }
        if T.self == Value.self, let value = try loan.rootValue() as? T { return value }
        return try T(from: loan)
    }
}

/// The number of the name that was decoded first; types are decoded in the same order each time.
package final class NameGuess: Sendable {
    fileprivate let number = Atomic<Int>(0)

    package init() {}
}

/// Access to a borrowed document, valid only while it is decoded.
///
/// A type may keep its decoder for longer, so each access checks that the document is borrowed.
final class DocumentLoan {
    private let lentNames: NameTable
    let coding: ValueCoding
    /// The fields of the document, if it is decoded with its id.
    private let root: EncodedObject?
    /// The encoded id of the document; nil if its fields have none.
    private let lentID: UnsafeRawBufferPointer?
    private var isOpen = true
    /// Successor of the last name number found; fields are mostly decoded in order.
    private var nextNumber: Int
    private var guess: NameGuess?

    init(
        _ names: NameTable, _ coding: ValueCoding, root: EncodedObject? = nil,
        id: UnsafeRawBufferPointer? = nil, _ guess: NameGuess? = nil
    ) {
        lentNames = names
        self.coding = coding
        self.root = root
        lentID = id
        self.guess = guess
        nextNumber = guess?.number.load(ordering: .relaxed) ?? 0
    }

    func end() {
        isOpen = false
    }

    /// The names of the document; reading them checks that the document is still borrowed.
    var names: NameTable {
        precondition(isOpen, "A decoder is valid only while its document is being decoded.")
        return lentNames
    }

    /// Whether the fields include the id.
    var hasID: Bool { lentID != nil }

    /// Returns the id; nil if the document has none.
    func id() throws(Malformed) -> Value? {
        precondition(isOpen, "A decoder is valid only while its document is being decoded.")
        guard let lentID else { return nil }
        if SortKey.isPlainText(lentID) {
            return .string(
                try text(UnsafeRawBufferPointer(rebasing: lentID[1..<lentID.count - 1]), at: 0))
        }
        return try SortKeyReader.read(lentID, descending: [false])[0]
    }

    /// Returns the entry of a field; nil if the field has no visible content.
    func entry(_ name: String, in object: EncodedObject) throws(Malformed) -> EncodedEntry? {
        precondition(isOpen, "A decoder is valid only while its document is being decoded.")
        var name = name
        var index = name.withUTF8 { number(of: UnsafeRawBufferPointer($0)) }
            .flatMap { object.index(ofNumber: UInt32($0)) }
        if index == nil, object.count > object.numberedCount {
            let spelling = Array(name.utf8)
            index = try spelling.span.withUnsafeBytes { (spelling) throws(Malformed) in
                try object.index(ofSpelling: spelling)
            }
        }
        guard let index else { return nil }
        let entry = try object.entry(index)
        return try entry.shown() == nil ? nil : entry
    }

    private func number(of name: UnsafeRawBufferPointer) -> UInt16? {
        let number = lentNames.number(of: name, guess: nextNumber)
        guard let number else { return nil }
        if let guess {
            if nextNumber != Int(number) { guess.number.store(Int(number), ordering: .relaxed) }
            self.guess = nil
        }
        nextNumber = Int(number) + 1
        return number
    }
}

/// The decoder of the fields of a document and its id.
extension DocumentLoan: Decoder {
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        guard let root else { throw Malformed.invalid("a document without fields", at: 0) }
        return KeyedDecodingContainer(
            EntryFieldsDecoding(object: root, loan: self, path: nil, depth: 1))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try Decoding(try rootValue(), nil, coding).unkeyedContainer()
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        Decoding(try rootValue(), nil, coding)
    }

    /// Returns all fields and the id.
    fileprivate func rootValue() throws -> Value {
        let container = try container(keyedBy: PathKey.self)
        return .object(
            Object(
                try container.allKeys.map { key in
                    (key.stringValue, try container.decode(Value.self, forKey: key))
                }))
    }
}

/// The decoder of one entry of a document.
struct EntryDecoding: Decoder {
    private let entry: EncodedEntry
    private let loan: DocumentLoan
    private let path: CodingPath?
    private let depth: Int

    init(_ entry: EncodedEntry, _ loan: DocumentLoan, _ path: CodingPath?, depth: Int) {
        self.entry = entry
        self.loan = loan
        self.path = path
        self.depth = depth
    }

    var codingPath: [any CodingKey] { CodingPath.keys(path) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        let names = loan.names
        guard depth + 1 < Value.maximumDepth else {
            throw Malformed.tooDeep(at: entry.start, limit: Value.maximumDepth)
        }
        guard let shown = try entry.shown() else {
            return try Decoding(.null, path, loan.coding).container(keyedBy: type)
        }
        switch try shown.tag() {
        case .map, .bareMap, .object:
            return KeyedDecodingContainer(
                EntryFieldsDecoding(
                    object: try shown.object(), loan: loan, path: path, depth: depth + 1))
        default:
            let value = try entry.value(names, depth: depth + 1) ?? .null
            return try Decoding(value, path, loan.coding).container(keyedBy: type)
        }
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try decoding().unkeyedContainer()
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        try decoding()
    }

    /// Returns the visible value.
    func value() throws(Malformed) -> Value {
        try entry.value(loan.names, depth: depth + 1) ?? .null
    }

    /// Returns a decoder of the visible value.
    func decoding() throws(Malformed) -> Decoding { Decoding(try value(), path, loan.coding) }

    /// Returns the elements of an array of strings; nil for anything else.
    private func strings() throws(Malformed) -> [String]? {
        guard try entry.tag() == .array else { return nil }
        let array = try entry.array()
        var strings: [String] = []
        strings.reserveCapacity(array.count)
        for index in 0..<array.count {
            let element = try array.element(index)
            guard try element.tag() == .string else { return nil }
            strings.append(try text(try element.payloadBytes(), at: element.start))
        }
        return strings
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        // The generic decoding of an element costs more than the string.
        if type == [String].self, let found = try strings() as? T { return found }
        if type == Value.self || type == [UInt8].self || FoundationTypes.contain(type) {
            return try decoding().decode(type)
        }
        return try T(from: self)
    }
}
