import SheafBytes
import SheafStorage

/// Recomputation of all checksums of the vector store after changes to its files.
///
/// The layout is that of the unchanged store: changes never move a structure.
struct FormatVectorChecksums {
    /// The structures of a file.
    private struct Layout {
        let name: String
        let records: [Range<Int>]
        let footer: Int?
        let isBase: Bool
    }

    private static let headerLength = 128
    private static let footerLength = SegmentFooter.length
    private let layouts: [Layout]

    /// Records the offsets of headers, records and footers of these files.
    init(_ files: [String: [UInt8]]) {
        layouts = files.keys.sorted().compactMap { name in
            guard let bytes = files[name], name.hasSuffix(".log") || name.hasSuffix(".base"),
                bytes.starts(with: Array("SHEAFLOG".utf8))
            else { return nil }
            var records: [Range<Int>] = []
            var offset = Self.headerLength
            while offset + 64 <= bytes.count, bytes[offset..<offset + 8] != Self.magic[...] {
                let length = Int(FormatVectorBytes.number(bytes, 4, at: offset + 8))
                guard length > 0 else { break }
                records.append(offset..<offset + length)
                offset += length
            }
            let isSealed =
                offset + 8 <= bytes.count && bytes[offset..<offset + 8] == Self.magic[...]
            return Layout(
                name: name, records: records, footer: isSealed ? offset : nil,
                isBase: name.hasSuffix(".base"))
        }
    }

    private static let magic = Array("SHEAFEND".utf8)

    /// Returns the files with recomputed checksums, hashes and chain hashes.
    func sealing(_ files: [String: [UInt8]]) -> [String: [UInt8]] {
        var files = files
        var chainHash: UInt64?
        for layout in layouts {
            guard var bytes = files[layout.name] else { continue }
            if let chainHash { Self.set(chainHash, at: 56, in: &bytes) }
            let seed = FormatVectorBytes.number(bytes, 8, at: 16)
            var chain = Self.hash(bytes[..<120], 0)
            Self.set(chain, at: 120, in: &bytes)
            for record in layout.records {
                Self.set(chain, at: record.lowerBound + 32, in: &bytes)
                chain = Self.hash(bytes[record.lowerBound + 8..<record.upperBound], seed)
                Self.set(chain, at: record.lowerBound, in: &bytes)
            }
            if let footer = layout.footer {
                let hash = Self.hash(bytes[..<footer], 0)
                Self.set(hash, at: footer + 40, in: &bytes)
                if !layout.isBase { Self.set(hash, at: footer + 48, in: &bytes) }
                chainHash = FormatVectorBytes.number(bytes, 8, at: footer + 48)
                let end = footer + Self.footerLength - 8
                Self.set(Self.hash(bytes[footer..<end], seed), at: end, in: &bytes)
            }
            files[layout.name] = bytes
        }
        for (name, bytes) in files where name.hasSuffix(".checkpoint") {
            files[name] = FormatVectorBytes.sealingCheckpoint(bytes)
        }
        return files
    }

    private static func set(_ value: UInt64, at offset: Int, in bytes: inout [UInt8]) {
        bytes = FormatVectorBytes.setting(bytes, 8, at: offset, to: value)
    }

    private static func hash(_ bytes: ArraySlice<UInt8>, _ seed: UInt64) -> UInt64 {
        bytes.withUnsafeBytes { XXH3.hash64($0, seed: seed) }
    }
}
