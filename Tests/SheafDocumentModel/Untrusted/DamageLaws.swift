import SheafBytes
package import SheafDocument
package import SheafTestSupport

/// Checks of documents that are truncated or have a flipped bit.
package struct DamageLaws {
    private struct Vector {
        let name: String
        let bytes: [UInt8]
        let names: NameTable
    }

    /// The number of documents read, intact or corrupted.
    package private(set) var count = 0
    /// The first violated invariant.
    package private(set) var violation: String?
    private let vectors: [Vector]

    /// Loads all documents of the vectors, and generates some from histories.
    package init() throws {
        let file = try FormatVectors("documents.txt")
        var vectors: [Vector] = []
        for name in file.names {
            let (start, kind) = (name.prefix { $0 != "." }, name.drop { $0 != "." })
            guard [".document", ".left", ".right", ".joined", ".refused"].contains(kind) else {
                continue
            }
            vectors.append(
                Vector(
                    name: name, bytes: try file.bytes(name),
                    names: try file.nameTable("\(start).names")))
        }
        for seed: UInt64 in 5_001...5_003 {
            var history = BytesHistory(seed: seed, nameCount: 3)
            for _ in 0..<60 { history.next() }
            let largest = history.states.compactMap(\.bytes).max { $0.count < $1.count }
            vectors.append(
                Vector(
                    name: "seed \(seed)", bytes: largest ?? [], names: BytesHistory.names(3)))
        }
        self.vectors = vectors
    }

    /// Performs all operations on the intact documents.
    package mutating func checkIntact() {
        for vector in vectors {
            read(vector.bytes[...], vector, DocumentProbe(vector.names), all: true) { "intact" }
        }
    }

    /// Reads prefixes of each document, and each document with single bits flipped.
    ///
    /// `step` is the distance between the positions; it is larger in large documents.
    package mutating func check(stride step: Int) {
        for vector in vectors where violation == nil {
            let probe = DocumentProbe(vector.names)
            var bytes = vector.bytes
            // Large documents are slow to read, and their middle parts are similar.
            let thousands = max(1, bytes.count / 1_000)
            let step = step * thousands * thousands
            for length in stride(from: count % step, to: bytes.count, by: step) {
                read(bytes[..<length], vector, probe) { "\(length) bytes" }
            }
            // An odd distance reaches every bit of a byte in turn.
            for bit in stride(from: count % step, to: bytes.count * 8, by: step | 1) {
                let mask: UInt8 = 1 << UInt8(bit % 8)
                bytes[bit / 8] ^= mask
                read(bytes[...], vector, probe) { "bit \(bit)" }
                bytes[bit / 8] ^= mask
            }
        }
    }

    /// Reads bytes with one operation, or with all of them.
    private mutating func read(
        _ bytes: ArraySlice<UInt8>, _ vector: Vector, _ probe: DocumentProbe, all: Bool = false,
        _ what: () -> String
    ) {
        count += 1
        let aspects = DocumentProbe.Aspect.all
        let chosen = all ? aspects : [aspects[count % aspects.count]]
        let found = bytes.withUnsafeBytes { probe.read($0, chosen) }
        if let found, violation == nil { violation = "\(vector.name), \(what()): \(found)" }
    }
}

extension FormatVectors {
    /// Returns the numbered names, or an empty table if the vectors have none.
    package func nameTable(_ name: String) throws -> NameTable {
        guard has(name) else { return NameTable() }
        var table = NameTable()
        try bytes(name).withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            while reader.remaining > 0 {
                let spelling = Array(try reader.readLengthPrefixed(limit: 1_000))
                guard table.add(spelling) != nil else { throw Malformed.notText(at: reader.offset) }
            }
        }
        return table
    }
}
