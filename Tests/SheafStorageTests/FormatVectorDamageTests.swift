import SheafStorage
import SheafTestSupport
import Testing

/// The outcomes in `vectors/damage.txt` for changed files of the vector store.
@Suite struct FormatVectorDamageTests {
    private let files: [String: [UInt8]]
    private let damage: FormatVectors
    private let contents: FormatVectors

    init() throws {
        files = try FormatVectorFiles().files
        damage = try FormatVectors("damage.txt")
        contents = try FormatVectors("contents.txt")
    }

    @Test func `a store with changed files opens or is refused as documented`() throws {
        #expect(damage.cases == FormatVectorDamage(files).cases.map(\.name))
        for name in damage.cases {
            let outcome = outcome(of: try damage.changing(files, in: name))
            let expected = try expected(name)
            #expect(outcome == expected, "\(name)")
        }
    }

    @Test func `a store that opens contains the state of its last commit`() throws {
        for name in damage.cases where damage.has("\(name).commit") {
            let commit = try damage.number("\(name).commit")
            let snapshot = try FormatVectorFiles.open(try damage.changing(files, in: name))
                .snapshot()
            let expected = try FormatVectorFiles.expected(contents, after: commit)
            #expect(try FormatVectorFiles.contents(snapshot) == expected, "\(name)")
        }
    }

    private func expected(_ name: String) throws -> FormatVectorDamage.Outcome {
        if damage.has("\(name).commit") {
            return .opens(
                try damage.number("\(name).commit"),
                usesCheckpoint: try damage.number("\(name).checkpoint") == 1)
        }
        let offset = try damage.integer("\(name).at")
        guard damage.has("\(name).corrupt") else {
            return .unsupported(try damage.text("\(name).unsupported"), at: offset)
        }
        return .corrupt(try damage.text("\(name).corrupt"), at: offset)
    }

    private func outcome(of files: [String: [UInt8]]) -> FormatVectorDamage.Outcome? {
        do throws(StorageError) {
            let engine = try FormatVectorFiles.open(files)
            return .opens(
                engine.snapshot().commit, usesCheckpoint: engine.recovery.usedCheckpoint != nil)
        } catch .corrupt(let damage) {
            return .corrupt(damage.file, at: damage.offset)
        } catch .unsupported(let damage) {
            return .unsupported(damage.file, at: damage.offset)
        } catch {
            Issue.record("Unexpected error: \(error)")
            return nil
        }
    }
}
