import SheafDocument

/// The input of the fuzzer: a byte with the kind of input, then the bytes to read.
package enum FuzzInput {
    /// The bits of the first byte.
    package enum Bits {
        package static let kind: UInt8 = 0b0000_0011
        /// The index of the operation on a single document.
        package static let aspect: UInt8 = 0b0111_1100
        /// Whether names have numbers.
        package static let names: UInt8 = 0b1000_0000
    }

    package enum Kind: UInt8, Sendable {
        case document
        /// The length of the first document in two bytes, then both documents.
        case twoDocuments
        case stored
        case json
    }

    private static let probes = [
        DocumentProbe(NameTable()), DocumentProbe(DocumentProbe.manyNames),
    ]
    private static let tables = [NameTable(), DocumentProbe.manyNames]

    /// Reads an input; returns the violated invariant, if any.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> String? {
        guard let first = bytes.first, let kind = Kind(rawValue: first & Bits.kind) else {
            return nil
        }
        let table = first & Bits.names == 0 ? 0 : 1
        let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        switch kind {
        case .document:
            let aspects = DocumentProbe.Aspect.all
            let number = (Int(first & Bits.aspect) >> 2) % aspects.count
            return probes[table].read(rest, [aspects[number]])
        case .twoDocuments:
            guard rest.count > 2 else { return nil }
            let length = min(Int(rest[0]) | Int(rest[1]) << 8, rest.count - 2)
            return probes[table].read(
                UnsafeRawBufferPointer(rebasing: rest[2..<2 + length]),
                UnsafeRawBufferPointer(rebasing: rest[(2 + length)...]))
        case .stored: return StoredProbe.read(rest)
        case .json: return StoredProbe.readJSON(rest, tables[table])
        }
    }
}
