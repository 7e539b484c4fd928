import SheafStorage
import SheafTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Generator of the vectors, run on request: `SHEAF_WRITE_VECTORS=1 swift test`.
///
/// Vectors of a released format never change. Review the differences before committing them.
@Suite struct FormatVectorGenerator {
    static let isWanted = getenv("SHEAF_WRITE_VECTORS") != nil

    @Test(.enabled(if: Self.isWanted))
    func `the vectors are regenerated`() throws {
        let files = try FormatVectorStore.files()
        let store = FormatVectors.directory() + "/store"
        for (name, bytes) in files {
            var text = FormatVectorText("\(name), \(bytes.count) bytes")
            let isCheckpoint = name.hasSuffix(".checkpoint")
            text.paragraph()
            text.fields(
                "file",
                isCheckpoint
                    ? FormatVectorFields.checkpoint(bytes) : FormatVectorFields.segment(bytes))
            try Self.write(text, to: store, "\(name).txt")
        }
        let structures = FormatVectorStructures(files)
        try Self.write(
            Self.text(structures.valid), to: FormatVectors.directory(), "structures.txt")
        try Self.write(
            Self.text(structures.refused), to: FormatVectors.directory(), "refused.txt")
        try Self.write(
            Self.text(FormatVectorDamage(files).cases), to: FormatVectors.directory(),
            "damage.txt")
    }

    private static func text(_ structures: [FormatVectorStructures.Valid]) -> FormatVectorText {
        var text = FormatVectorText(
            """
            Structures of log.md from the files in the directory store, with their decoded fields.
            An operation is listed alone, without its record.
            """)
        for structure in structures {
            text.paragraph()
            let fields = FormatVectorFields.structure(structure.bytes, structure.name)
            // The fields of the structure itself precede the structures nested in it.
            let own = fields.prefix(1) + fields.dropFirst().prefix { $0.title == nil }
            for field in own where ["key", "payload"].contains(field.name) {
                text.bytes("\(structure.name).\(field.name)", Array(field.bytes))
            }
            if structure.name == "operation-remove" {
                text.bytes("\(structure.name).payload", [])
            }
            for field in own
            where field.bytes.count <= 8 && !["key", "payload", "magic"].contains(field.name) {
                let number = FormatVectorBytes.number(Array(field.bytes), field.bytes.count, at: 0)
                let name = field.name.replacing(",", with: "").replacing(" ", with: "-")
                text.number("\(structure.name).\(name)", field.value ?? "\(number)")
            }
            text.fields("\(structure.name).bytes", fields)
        }
        return text
    }

    private static func text(
        _ structures: [FormatVectorStructures.Refused]
    ) -> FormatVectorText {
        var text = FormatVectorText(
            """
            Refused structures: those of structures.txt with one field changed, and with a recomputed
            checksum unless the checksum is the changed field. They are decoded at these offsets: headers,
            records, operations and footers in segment 3 at 0, 128, 224 and 384; compacted records and
            directory records in the base file of segments 1 and 2 at 128 and 344. The error is at the
            offset "at" of the structure. With "unsupported" it is not damage.
            """)
        for structure in structures {
            text.paragraph(structure.rule)
            text.bytes("\(structure.name).kind", Array(structure.kind.utf8))
            text.number("\(structure.name).at", "\(structure.at)")
            if structure.isUnsupported { text.number("\(structure.name).unsupported", "1") }
            text.bytes("\(structure.name).bytes", structure.bytes)
        }
        return text
    }

    private static func text(_ cases: [FormatVectorDamage.Case]) -> FormatVectorText {
        var text = FormatVectorText(
            """
            The outcomes of opening the store in the directory store after changes of its files.

            Changes are numbered from 1. Each names a file. "removed" removes it; "length" truncates it, or
            extends it with zeros, or creates it with zeros; "bytes" are written at "offset". Then the store
            either opens with the state after "commit", from its checkpoint or (checkpoint = 0) from its log
            alone, or opening fails with an error that names the file "corrupt" or "unsupported" and the
            offset "at".
            """)
        for damage in cases {
            text.paragraph(damage.comment)
            for (index, change) in damage.changes.enumerated() {
                let name = "\(damage.name).\(index + 1)"
                text.bytes("\(name).file", Array(change.file.utf8))
                switch change.kind {
                case .removed: text.number("\(name).removed", "1")
                case .length(let length): text.number("\(name).length", "\(length)")
                case .bytes(let offset, let bytes):
                    text.number("\(name).offset", "\(offset)")
                    text.bytes("\(name).bytes", bytes)
                }
            }
            switch damage.outcome {
            case .opens(let commit, let usesCheckpoint):
                text.number("\(damage.name).commit", "\(commit)")
                text.number("\(damage.name).checkpoint", usesCheckpoint ? "1" : "0")
            case .corrupt(let file, let offset):
                text.bytes("\(damage.name).corrupt", Array(file.utf8))
                text.number("\(damage.name).at", "\(offset)")
            case .unsupported(let file, let offset):
                text.bytes("\(damage.name).unsupported", Array(file.utf8))
                text.number("\(damage.name).at", "\(offset)")
            }
        }
        return text
    }

    static func write(_ text: FormatVectorText, to folder: String, _ name: String) throws {
        let volume = try PosixVolume(path: folder, creatingDirectory: true)
        if try volume.names().contains(name) { try volume.remove(name) }
        try volume.write(Array(text.text.utf8), to: name)
    }
}
