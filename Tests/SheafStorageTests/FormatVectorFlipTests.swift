import SheafStorage
import SheafTestSupport
import Testing

/// The vector store with one in three bytes changed, and each file truncated at as many lengths.
///
/// The state after commit 9 is complete; the state after commit 8 lacks the last batch.
@Suite struct FormatVectorFlipTests {
    private let files: [String: [UInt8]]
    private let states: [CommitID: [String: [[UInt8]]]]
    private let last = "0000000006.log"

    init() throws {
        files = try FormatVectorFiles().files
        let contents = try FormatVectors("contents.txt")
        var states: [CommitID: [String: [[UInt8]]]] = [:]
        for commit in 7...9 as ClosedRange<CommitID> {
            states[commit] = try FormatVectorFiles.expected(contents, after: commit)
        }
        self.states = states
    }

    /// Returns the last commit of a store with these files, or nil if it reports damage.
    private func commit(_ files: [String: [UInt8]]) throws -> CommitID? {
        do {
            let snapshot = try FormatVectorFiles.open(files).snapshot()
            let contents = try FormatVectorFiles.contents(snapshot)
            #expect(contents == states[snapshot.commit])
            return snapshot.commit
        } catch StorageError.corrupt {
            return nil
        } catch StorageError.unsupported {
            return nil
        }
    }

    @Test func `a flipped bit is reported, is harmless, or loses the last batch`() throws {
        let start = Int.random(in: 0..<3)
        print("flips from offset \(start)")
        for (name, bytes) in files {
            for offset in stride(from: start, to: bytes.count, by: 3) {
                var changed = files
                changed[name]?[offset] ^= 1 << UInt8(offset % 8)
                let found = try commit(changed)
                // The last batch starts at offset 224 of the last segment.
                let lowest: CommitID = name == last && offset >= 224 ? 8 : 9
                if let found { #expect(found >= lowest, "\(name), \(offset)") }
            }
        }
    }

    @Test func `a truncation is reported, is harmless, or affects the last segment only`()
        throws
    {
        let start = Int.random(in: 0..<3)
        print("truncations from length \(start)")
        for (name, bytes) in files {
            let isSealed = name.hasSuffix(".base") || ("0000000003.log"..<last).contains(name)
            // Trailing zeros after a footer may be removed at any time.
            let end = isSealed ? (bytes.lastIndex { $0 != 0 } ?? 0) : -1
            for length in stride(from: start, to: bytes.count, by: 3) {
                var changed = files
                changed[name] = Array(bytes[..<length])
                let found = try commit(changed)
                #expect((found == nil) == (length <= end), "\(name), \(length)")
                if name != last, let found { #expect(found == 9, "\(name), \(length)") }
            }
        }
    }
}
