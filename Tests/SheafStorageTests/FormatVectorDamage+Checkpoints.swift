import SheafStorage

/// Cases about checkpoints and marks of closed stores.
extension FormatVectorDamage {
    /// Logs with a mark of the last commit of a closed store.
    var closed: [Case] {
        let mark = { (commit: CommitID) in
            Change(file: FileName.name(ofClosedMark: commit), kind: .bytes(at: 0, []))
        }
        return [
            Case(
                name: "closed", comment: "the closed mark matches the log",
                changes: [mark(9)], outcome: .opens(9, usesCheckpoint: true)),
            Case(
                name: "closed-earlier", comment: "the store was opened again since it was closed",
                changes: [mark(8), mark(2)], outcome: .opens(9, usesCheckpoint: true)),
            Case(
                name: "closed-without-last",
                comment: "the last segment is missing, which the closed mark shows",
                changes: [mark(9), remove(last)], outcome: .corrupt("0000000005.log", at: 320)),
            Case(
                name: "closed-without-header", comment: "the last segment was begun after all",
                changes: [mark(9), cut(last, to: 100)], outcome: .corrupt(last, at: 0)),
            Case(
                name: "closed-and-torn", comment: "a record that looks torn was durable",
                changes: [mark(9), flip(last, at: 300)],
                outcome: .corrupt(last, at: 224)),
        ]
    }

    /// Logs that end before the checkpoint, which covers commit 7 and ends at 3:384.
    var missing: [Case] {
        let third = "0000000003.log"
        let later = ["0000000004.log", "0000000005.log", last, "0000000007.log"].map(remove)
        return [
            Case(
                name: "cut-behind-checkpoint",
                comment: "the log ends at the checkpoint: nothing shows that more is missing",
                changes: later + [cut(third, to: 384)], outcome: .opens(7, usesCheckpoint: true)),
            Case(
                name: "cut-before-checkpoint", comment: "the log ends before the checkpoint",
                changes: later + [cut(third, to: 300)], outcome: .corrupt(third, at: 300)),
            Case(
                name: "cut-before-unreadable",
                comment: "the log ends before a damaged checkpoint, which its file name shows",
                changes: later + [cut(third, to: 300), flip(checkpoint, at: 4_200)],
                outcome: .corrupt(third, at: 232)),
            Case(
                name: "gone-before-checkpoint",
                comment: "the segments after the base file are missing",
                changes: [remove(third)] + later, outcome: .corrupt(third, at: 384)),
            Case(
                name: "gone-all", comment: "only the checkpoint remains",
                changes: [remove(base), remove(third)] + later,
                outcome: .corrupt("0000000001.log", at: 0)),
        ]
    }

    /// Unusable checkpoints.
    var checkpoints: [Case] {
        let fromLog = Outcome.opens(9, usesCheckpoint: false)
        let right = bytes(checkpoint)
        /// Returns the changes that set a field and recompute hash and checksum.
        func set(_ size: Int, at offset: Int, to value: UInt64) -> [Change] {
            let changed = FormatVectorBytes.sealingCheckpoint(
                FormatVectorBytes.setting(right, size, at: offset, to: value))
            let fields = [(offset, size), (72, 8), (4_152, 8)]
            return fields.map { difference(checkpoint, changed, from: $0.0, $0.1) }
        }
        func unusable(_ name: String, _ comment: String, _ changes: [Change]) -> Case {
            Case(
                name: "checkpoint-\(name)", comment: comment, changes: changes, outcome: fromLog)
        }
        return [
            unusable("missing", "no checkpoint", [remove(checkpoint)]),
            unusable("bit", "a flipped bit in a page", [flip(checkpoint, at: 4_200)]),
            unusable("cut", "the table of live bytes is truncated", [cut(checkpoint, to: 8_367)]),
            unusable("longer", "the file is too long", [append(checkpoint, [0])]),
            unusable("version", "a later version", set(4, at: 8, to: 3)),
            unusable("former", "an earlier version", set(4, at: 8, to: 1)),
            unusable("page-length", "pages of another length", set(4, at: 12, to: 4_096)),
            unusable("store", "another store", set(8, at: 16, to: 7)),
            unusable(
                "forgotten", "its commit precedes the removals that compaction dropped",
                set(8, at: 40, to: 1 << 32 | 384)),
            unusable(
                "name", "its commit differs from that of its file name", set(8, at: 32, to: 6)),
            unusable("links", "index entries beyond its commit", set(8, at: 88, to: 8)),
            Case(
                name: "checkpoint-former-links",
                comment: "index entries of an earlier format are ignored",
                changes: set(8, at: 80, to: 8), outcome: .opens(9, usesCheckpoint: true)),
            unusable("live-zeros", "live bytes of a missing file", set(4, at: 8_324, to: 1)),
            unusable(
                "live-order", "live bytes of segments in the wrong order", set(4, at: 8_336, to: 1)),
            unusable(
                "level", "a root that is neither a leaf nor has children", set(1, at: 4_162, to: 1)),
            unusable("count", "more entries than fit in a page", set(2, at: 4_160, to: 341)),
            unusable("prefix", "a prefix of more than 40 bytes", set(1, at: 4_163, to: 41)),
            unusable("heap", "a wrong start of the heap", set(2, at: 4_164, to: 4_099)),
            unusable("dead", "a hole in the heap", set(2, at: 4_166, to: 1)),
            unusable("order", "heads in the wrong order", set(8, at: 4_256, to: 1 << 56)),
            unusable("bits", "a head longer than its suffix", set(1, at: 4_248, to: 1)),
            unusable("record", "a misplaced record", set(2, at: 4_284, to: 4_135)),
            unusable("suffix", "an empty key", set(2, at: 4_282, to: 12 << 11)),
            unusable("weight", "a wrong sum of weights", set(8, at: 4_224, to: 1)),
            unusable("weights", "a wrong number of weights", set(8, at: 4_232, to: 2)),
        ]
    }
}
