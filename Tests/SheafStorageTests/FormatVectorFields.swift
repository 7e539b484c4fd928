import SheafStorage

/// Decomposition of store files into the fields of `format-spec`, for human readers.
///
/// The input is trusted: it consists of freshly written files.
struct FormatVectorFields {
    /// A named range of bytes.
    package struct Field {
        /// The title of the structure that starts with this field, if any.
        var title: String?
        let bytes: ArraySlice<UInt8>
        let name: String
        /// The numeric value, if it is clearer than the bytes.
        var value: String?

        var comment: String { value.map { "\(name): \($0)" } ?? name }
    }

    private let bytes: [UInt8]
    private var offset = 0
    private var title: String?
    private(set) var fields: [Field] = []

    /// Returns the fields of a segment file.
    static func segment(_ bytes: [UInt8]) -> [Field] {
        var cut = FormatVectorFields(bytes)
        if bytes.allSatisfy({ $0 == 0 }) {
            if !bytes.isEmpty { cut.take(bytes.count, "zeros: the segment was not begun") }
            return cut.fields
        }
        cut.header()
        while cut.offset < bytes.count, !cut.isFooter, !cut.isUnused { cut.record() }
        if cut.isFooter { cut.footer() }
        if cut.offset < bytes.count { cut.take(bytes.count - cut.offset, "zeros") }
        return cut.fields
    }

    /// Returns the fields of a checkpoint.
    static func checkpoint(_ bytes: [UInt8]) -> [Field] {
        var cut = FormatVectorFields(bytes)
        let (pages, files) = cut.checkpointHeader()
        for number in 0..<pages { cut.page(number + 1) }
        cut.title = "table 8: live bytes"
        for _ in 0..<files {
            cut.number(4, "first segment")
            cut.number(4, "zeros")
            cut.number(8, "live bytes")
        }
        return cut.fields
    }

    /// Returns the fields of one structure of `log.md`; the prefix of `name` is its kind.
    static func structure(_ bytes: [UInt8], _ name: String) -> [Field] {
        var cut = FormatVectorFields(bytes)
        switch name.prefix(while: { $0 != "-" }) {
        case "header": cut.header()
        case "footer": cut.footer()
        case "operation": cut.operation()
        default: cut.record()
        }
        cut.fields[0].title = nil
        return cut.fields
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var isFooter: Bool {
        bytes[offset...].prefix(8).elementsEqual("SHEAFEND".utf8)
    }

    /// Whether no record follows: the length of a record is never zero.
    private var isUnused: Bool { value(4, at: offset + 8) == 0 }

    private func value(_ size: Int, at offset: Int) -> UInt64 {
        bytes[offset..<offset + size].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func take(_ size: Int, _ name: String, value: String? = nil) {
        fields.append(
            Field(title: title, bytes: bytes[offset..<offset + size], name: name, value: value))
        title = nil
        offset += size
    }

    @discardableResult
    private mutating func number(_ size: Int, _ name: String) -> Int {
        let value = value(size, at: offset)
        take(size, name, value: "\(value)")
        return Int(truncatingIfNeeded: value)
    }

    private mutating func position(_ name: String) {
        let value = value(8, at: offset)
        take(8, name, value: "\(value >> 32):\(value & 0xFFFF_FFFF)")
    }

    private mutating func store() {
        take(8, "store, low half")
        take(8, "store, high half")
    }

    private mutating func header() {
        title = "0: header"
        take(8, "magic")
        number(4, "format version")
        number(4, "header length")
        store()
        number(4, "first segment")
        number(4, "last segment")
        number(8, "first commit")
        number(8, "created at")
        take(8, "link")
        number(2, "cipher")
        number(2, "codec")
        number(4, "kind")
        number(8, "compacted through")
        take(40, "reserved")
        take(8, "checksum")
    }

    private mutating func footer() {
        title = "\(offset): footer"
        take(8, "magic")
        number(8, "content length")
        number(8, "record count")
        number(8, "last commit")
        number(8, "last commit at")
        take(8, "hash")
        take(8, "link")
        number(8, "directory offset")
        position("synced")
        position("removals compacted through")
        take(8, "checksum")
    }

    private mutating func record() {
        let names = ["", "complete", "first", "middle", "last", "compacted", "directory"]
        let kind = Int(bytes[offset + 12])
        title = "\(offset): record, \(names[kind])"
        take(8, "checksum")
        number(4, "length")
        number(1, "kind")
        let padding = number(1, "padding")
        number(2, "reserved")
        number(8, "commit")
        position("position")
        take(8, "previous checksum")
        position("synced")
        number(8, "time")
        let count = number(4, "count")
        number(4, "part")
        if kind == 5 {
            for _ in 0..<count { compactedEntry() }
        }
        for _ in 0..<count {
            if kind == 6 { directoryEntry() } else { operation() }
        }
        if padding > 0 { take(padding, "zeros up to a multiple of 8") }
    }

    private mutating func compactedEntry() {
        title = "\(offset): entry"
        position("position")
        number(8, "commit")
        number(4, "offset")
        number(4, "length")
    }

    private mutating func directoryEntry() {
        title = "\(offset): entry"
        position("first position")
        number(4, "record offset")
        number(4, "entry count")
    }

    private mutating func operation() {
        let names = ["", "put", "remove", "delta"]
        title = "\(offset): operation, \(names[Int(bytes[offset])])"
        number(1, "kind")
        number(1, "reserved")
        let key = number(2, "key length")
        let payload = number(4, "payload length")
        position("previous")
        number(4, "distance")
        take(key, "key")
        if payload > 0 { take(payload, "payload") }
    }

    private mutating func checkpointHeader() -> (pages: Int, files: Int) {
        title = "0: header"
        take(8, "magic")
        number(4, "format version")
        number(4, "page length")
        store()
        number(8, "commit")
        position("position")
        take(8, "chain")
        number(8, "commit at")
        let pages = number(4, "pages")
        let files = number(4, "files")
        take(8, "hash")
        number(8, "formerly linked through")
        number(8, "linked through")
        take(4_056, "reserved")
        take(8, "checksum")
        return (pages, files)
    }

    /// Splits a page of a tree small enough to consist of one leaf.
    private mutating func page(_ number: Int) {
        let start = offset
        title = "\(offset): page \(number)"
        let count = self.number(2, "n")
        self.number(1, "level")
        let prefix = self.number(1, "prefix length")
        let heap = self.number(2, "heap")
        self.number(2, "dead")
        self.number(8, "version")
        self.number(8, "reserved")
        if prefix > 0 { take(prefix, "prefix") }
        take(40 - prefix, "zeros after the prefix")
        self.number(8, "weight")
        self.number(8, "weights")
        for index in 0..<count { take(8, "head \(index)") }
        var records: [Int] = []
        var values: [Int] = []
        for index in 0..<count {
            records.append(self.number(2, "slot \(index), record"))
            let lengths = value(2, at: offset)
            values.append(Int(lengths >> 11))
            take(2, "lengths", value: "\(lengths & 0x7FF) and \(lengths >> 11)")
        }
        take(start + heap - offset, "unused")
        for index in records.indices.reversed() {
            let end = index == 0 ? 4_160 : records[index - 1]
            let size = end - records[index]
            if size > values[index] { take(size - values[index], "record \(index), rest") }
            position("record \(index), position")
            self.number(4, "length")
            if values[index] > 12 { self.number(8, "weight") }
        }
    }
}
