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

/// Writes the vectors anew, when somebody asks for it: `SHEAF_WRITE_VECTORS=1 swift test`.
///
/// A vector of a released format never changes. Look at the difference before you commit it.
@Suite struct FormatVectorGenerator {
    static let isWanted = getenv("SHEAF_WRITE_VECTORS") != nil

    @Test(.enabled(if: Self.isWanted))
    func `the vectors are written anew`() throws {
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
    }

    static func write(_ text: FormatVectorText, to folder: String, _ name: String) throws {
        let volume = try PosixVolume(path: folder, creatingDirectory: true)
        if try volume.names().contains(name) { try volume.remove(name) }
        try volume.write(Array(text.text.utf8), to: name)
    }
}
