import SheafBytes
import SheafStorage

/// Changes to the files of the vector store, with the expected outcomes: `vectors/damage.txt`.
struct FormatVectorDamage {
    /// One change to one file.
    package struct Change {
        package enum Kind {
            case removed
            case length(Int)
            case bytes(at: Int, [UInt8])
        }

        let file: String
        let kind: Kind
    }

    package enum Outcome: Equatable {
        case opens(CommitID, usesCheckpoint: Bool)
        case corrupt(String, at: Int)
        case unsupported(String, at: Int)
    }

    struct Case {
        let name: String
        let comment: String
        let changes: [Change]
        let outcome: Outcome
    }

    let files: [String: [UInt8]]
    let checkpoint = FormatVectorStore.checkpoint
    let base = "0000000001-0000000002.base"
    let last = "0000000006.log"

    init(_ files: [String: [UInt8]]) {
        self.files = files
    }

    var cases: [Case] {
        torn + proven + recovered + sealed + missing + closed + names + checkpoints
    }

    func bytes(_ file: String) -> [UInt8] { files[file] ?? [] }

    /// Returns the change of `count` bytes that turns a file into `changed`.
    func difference(_ file: String, _ changed: [UInt8], from start: Int, _ count: Int)
        -> Change
    {
        Change(file: file, kind: .bytes(at: start, Array(changed[start..<start + count])))
    }

    func flip(_ file: String, at offset: Int) -> Change {
        difference(
            file, FormatVectorBytes.flipping(bytes(file), at: offset), from: offset, 1)
    }

    func cut(_ file: String, to length: Int) -> Change {
        Change(file: file, kind: .length(length))
    }

    func remove(_ file: String) -> Change { Change(file: file, kind: .removed) }

    func append(_ file: String, _ bytes: [UInt8]) -> Change {
        Change(file: file, kind: .bytes(at: self.bytes(file).count, bytes))
    }

    /// Returns a change of one field of a segment header, with a recomputed checksum.
    private func header(_ file: String, _ size: Int, at offset: Int, to value: UInt64) -> Change {
        let changed = FormatVectorBytes.setting(bytes(file), size, at: offset, to: value)
        return difference(file, FormatVectorBytes.sealingHeader(changed), from: 0, 128)
    }

    /// Returns a change of one field of a record, with a recomputed checksum.
    private func record(
        _ file: String, _ range: Range<Int>, _ size: Int, at offset: Int, to value: UInt64
    ) -> Change {
        let changed = FormatVectorBytes.setting(bytes(file), size, at: offset, to: value)
        return Change(
            file: file,
            kind: .bytes(
                at: range.lowerBound, FormatVectorBytes.sealingRecord(Array(changed[range]))))
    }

    /// Tails that a crash may leave, and damage that is indistinguishable from them.
    private var torn: [Case] {
        let all = Outcome.opens(9, usesCheckpoint: true)
        let allButOne = Outcome.opens(8, usesCheckpoint: true)
        return [
            Case(name: "whole", comment: "unchanged", changes: [], outcome: all),
            Case(
                name: "zeros", comment: "the last segment is longer than its contents",
                changes: [cut(last, to: 4_096)], outcome: all),
            Case(
                name: "garbage", comment: "bytes after the last record that are not a record",
                changes: [Change(file: last, kind: .bytes(at: 360, [1, 2, 3]))], outcome: all),
            Case(
                name: "torn-record", comment: "the last record is truncated",
                changes: [cut(last, to: 300)], outcome: allButOne),
            Case(
                name: "torn-bit",
                comment:
                    "a flipped bit in the last record: no later record shows that it is damage",
                changes: [flip(last, at: 300)], outcome: allButOne),
            Case(
                name: "torn-commit",
                comment: "the last record of commit 8 is truncated: the complete commit is dropped",
                changes: [cut(last, to: 200)], outcome: .opens(7, usesCheckpoint: true)),
            Case(
                name: "torn-header",
                comment: "the header of the last segment is truncated: the segment was not begun",
                changes: [cut(last, to: 100)], outcome: .opens(7, usesCheckpoint: true)),
            Case(
                name: "not-prepared", comment: "the segment that was not begun is missing",
                changes: [remove("0000000007.log")], outcome: all),
            Case(
                name: "without-a-witness",
                comment: "the last segment is missing: no later segment shows it",
                changes: [remove(last)], outcome: .opens(7, usesCheckpoint: true)),
        ]
    }

    /// Damage that a later record distinguishes from a torn tail.
    private var proven: [Case] {
        [
            Case(
                name: "proven-record",
                comment: "a flipped bit in commit 8, which commit 9 records as synced",
                changes: [flip(last, at: 200)], outcome: .corrupt(last, at: 128)),
            Case(
                name: "proven-header",
                comment: "a flipped bit in a header, whose segment commit 9 records as begun",
                changes: [flip(last, at: 50)], outcome: .corrupt(last, at: 120)),
            Case(
                name: "version",
                comment: "a later version of the format is not damage",
                changes: [header(last, 4, at: 8, to: 2)], outcome: .unsupported(last, at: 8)),
        ]
    }

    /// Damage in sealed segments.
    private var sealed: [Case] {
        let third = "0000000003.log"
        let fourth = "0000000004.log"
        return [
            Case(
                name: "sealed-record", comment: "a flipped bit in commit 7",
                changes: [remove(checkpoint), flip(third, at: 300)],
                outcome: .corrupt(third, at: 224)),
            Case(
                name: "sealed-base", comment: "a flipped bit in a compacted record",
                changes: [remove(checkpoint), flip(base, at: 300)],
                outcome: .corrupt(base, at: 128)),
            Case(
                name: "sealed-footer", comment: "a flipped bit in a footer",
                changes: [flip(third, at: 390)], outcome: .corrupt(third, at: 480)),
            Case(
                name: "sealed-cut", comment: "a sealed segment has lost its footer",
                changes: [cut(third, to: 384)], outcome: .corrupt(third, at: 384)),
            Case(
                name: "sealed-zeros", comment: "zeros after a footer that were not removed yet",
                changes: [cut(third, to: 4_096)], outcome: .opens(9, usesCheckpoint: true)),
            Case(
                name: "sealed-garbage", comment: "other bytes after a footer are damage",
                changes: [append(third, [UInt8](repeating: 1, count: 8))],
                outcome: .corrupt(third, at: 488)),
            Case(
                name: "sealed-odd",
                comment: "nonzero bytes after a footer, fewer than 8",
                changes: [append(third, [0, 0, 0, 1])], outcome: .corrupt(third, at: 484)),
            Case(
                name: "unknown-record", comment: "a record of an unknown kind",
                changes: [remove(checkpoint), record(third, 224..<384, 1, at: 236, to: 7)],
                outcome: .unsupported(third, at: 236)),
            Case(
                name: "unknown-tail",
                comment:
                    "a last record of an unknown kind is not torn, because its checksum is right",
                changes: [record(last, 224..<360, 1, at: 236, to: 7)],
                outcome: .unsupported(last, at: 236)),
            Case(
                name: "unknown-operation", comment: "an operation of an unknown kind",
                changes: [remove(checkpoint), record(third, 224..<384, 1, at: 288, to: 4)],
                outcome: .unsupported(third, at: 288)),
            Case(
                name: "missing", comment: "a missing segment in the middle",
                changes: [remove(fourth)], outcome: .corrupt(fourth, at: 0)),
            Case(
                name: "other-store", comment: "a file of another store",
                changes: [header(fourth, 8, at: 16, to: 7)], outcome: .corrupt(fourth, at: 16)),
            Case(
                name: "other-life", comment: "a file with another predecessor",
                changes: [header(fourth, 8, at: 56, to: 7)], outcome: .corrupt(fourth, at: 56)),
            Case(
                name: "other-commit", comment: "a first commit that is not the next one",
                changes: [header(fourth, 8, at: 40, to: 9)], outcome: .corrupt(fourth, at: 40)),
            Case(
                name: "misnamed", comment: "a header with other segment numbers than the file name",
                changes: [header(fourth, 8, at: 32, to: 5 << 32 | 5)],
                outcome: .corrupt(fourth, at: 32)),
        ]
    }

    /// A recovered store: the footer of its last segment records the synced length.
    private var recovered: [Case] {
        let content = Array(bytes(last).prefix(360))
        let hash = content.withUnsafeBytes { XXH3.hash64($0) }
        let footer = SegmentFooter(
            contentLength: content.count, recordCount: 2, lastCommit: 9,
            lastCommitAt: FormatVectorBytes.number(content, 8, at: 272), hash: hash,
            chainHash: hash,
            synced: LogPosition(segment: 6, offset: content.count))
        let seal = Change(
            file: last,
            kind: .bytes(at: content.count, footer.encoded(store: FormatVectorStore.id)))
        return [
            Case(
                name: "recovered", comment: "the store was opened and its last segment sealed",
                changes: [seal], outcome: .opens(9, usesCheckpoint: true)),
            Case(
                name: "recovered-bit",
                comment:
                    "a footer distinguishes a flipped bit of the last batch from a torn write",
                changes: [flip(last, at: 300), seal], outcome: .corrupt(last, at: 224)),
        ]
    }

    /// Additional and leftover files.
    private var names: [Case] {
        let all = Outcome.opens(9, usesCheckpoint: true)
        let overlapping = "0000000002-0000000003.base"
        return [
            Case(
                name: "superseded",
                comment: "a crash left segments that a base file replaces; they are ignored",
                changes: [append("0000000001.log", [1]), append("0000000002.log", [])],
                outcome: all),
            Case(
                name: "foreign", comment: "temporary files and unrelated files",
                changes: [
                    append("000000000000001f.tmp", [1]), append("1f.tmp", [1]),
                    append("notes.txt", [1]), append("8.log", [1]), append("0000000000.log", [1]),
                ], outcome: all),
            Case(
                name: "overlapping", comment: "base files that share a segment",
                changes: [append(overlapping, [1])], outcome: .corrupt(overlapping, at: 0)),
        ]
    }
}
