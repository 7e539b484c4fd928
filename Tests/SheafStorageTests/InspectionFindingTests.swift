import SheafStorage
import SheafTestSupport
import Testing

/// Exact findings of verifications of the vector store after the changes in `vectors/damage.txt`.
@Suite struct InspectionFindingTests {
    private let files: [String: [UInt8]]
    private let damage: FormatVectors

    init() throws {
        files = try FormatVectorFiles().files
        damage = try FormatVectors("damage.txt")
    }

    private func findings(in name: String) throws -> [String] {
        let changed = try damage.changing(files, in: name)
        return try Verifier.verify(SimulatedVolume(files: changed)).findings.map(FindingText.text)
    }

    private func expect(_ table: String) throws {
        for (name, expected) in FindingText.rows(table) {
            #expect(damage.cases.contains(name), "\(name)")
            let found = try findings(in: name)
            #expect(found == expected, "\(name)")
        }
    }

    @Test func `remains of a crash are notes with what the next opening does`() throws {
        try expect(Self.remains)
    }

    private static let remains = """
        whole
          OPEN
          PREPARED
        zeros
          OPEN
          PREPARED
        garbage
          note 6:360: a torn tail, which the next opening cuts: \
        the file ends inside a record header
          PREPARED
        torn-record
          note 6:232: a torn tail, which the next opening cuts: the record length 136 is wrong
          PREPARED
        torn-bit
          note 6:224: a torn tail, which the next opening cuts: \
        the record's checksum does not match
          PREPARED
        torn-commit
          note 6:136: a torn tail, which the next opening cuts: the record length 96 is wrong
          PREPARED
        torn-header
          note 4:128: the last commit is incomplete; the next opening drops it
          PREPARED
          note 6:0: the segment was begun but holds no commit; the next opening removes it
        not-prepared
          OPEN
        without-a-witness
          note 4:128: the last commit is incomplete; the next opening drops it
          PREPARED
        recovered
          PREPARED
        sealed-zeros
          OPEN
          PREPARED
        cut-behind-checkpoint
          note 3:384: the store was not closed; the next opening seals the segment
        superseded
          OPEN
          note 1:0: a base file has replaced it; the next opening removes it
          note 2:0: a base file has replaced it; the next opening removes it
          PREPARED
        foreign
          OPEN
          PREPARED
          note 000000000000001f.tmp:0: the file was not completed; the next opening removes it
          note 0000000000.log:0: the file does not belong to the store
          note 1f.tmp:0: the file does not belong to the store
          note 8.log:0: the file does not belong to the store
          note notes.txt:0: the file does not belong to the store
        closed
          OPEN
          PREPARED
        closed-earlier
          OPEN
          PREPARED
        checkpoint-missing
          OPEN
          PREPARED
        checkpoint-former-links
          OPEN
          PREPARED
        """

    @Test func `damage has its offset and its reason, and notes promise no repair beside it`()
        throws
    {
        try expect(Self.damaged)
    }

    private static let damaged = """
        proven-record
          damage 6:128: the record's checksum does not match \
        (96 bytes up to offset 224 are not a record)
          damage 6:224: commit 8 is lost before this record
          LEFT-OPEN
          PREPARED
        proven-header
          damage 6:120: the header's checksum does not match
          damage 6:224: commit 8 is lost before this record
          LEFT-OPEN
          PREPARED
        recovered-bit
          damage 6:224: the record's checksum does not match \
        (136 bytes up to offset 360 are not a record)
          PREPARED
        sealed-record
          damage 3:224: the record's checksum does not match \
        (160 bytes up to offset 384 are not a record)
          damage 4:128: commit 7 is lost before this record
          LEFT-OPEN
          PREPARED
        sealed-base
          damage 1-2:128: the record's checksum does not match \
        (216 bytes up to offset 344 are not a record)
          LEFT-OPEN
          PREPARED
        sealed-footer
          damage 3:392: the record length 384 is wrong (88 bytes up to offset 472 are not a record)
          damage 3:472: the footer of a sealed segment is missing
          LEFT-OPEN
          PREPARED
        sealed-cut
          damage 3:384: the footer of a sealed segment is missing
          LEFT-OPEN
          PREPARED
        sealed-garbage
          damage 3:480: a byte after the footer is not zero
          LEFT-OPEN
          PREPARED
        sealed-odd
          damage 3:483: a byte after the footer is not zero
          LEFT-OPEN
          PREPARED
        unknown-record
          damage 3:236: the record is of no known kind \
        (160 bytes up to offset 384 are not a record)
          damage 4:128: commit 7 is lost before this record
          LEFT-OPEN
          PREPARED
        unknown-tail
          damage 6:236: the record is of no known kind \
        (134 bytes up to offset 358 are not a record)
          note 6:358: the store was not closed
          PREPARED
        unknown-operation
          damage 3:288: the operation is of no known kind; a newer program may have written it
          damage 3:424: the hash of the file does not match
          damage 3:432: the chain hash is not the file's hash
          damage 4:128: commit 7 is lost before this record
          LEFT-OPEN
          PREPARED
        missing
          damage 4:0: the segment is missing
          damage 6:224: commit 8 is lost before this record
          LEFT-OPEN
          PREPARED
        other-store
          damage 4:16: the file belongs to store 100f0e0d0c0b0a090000000000000007, \
        not to 100f0e0d0c0b0a090807060504030201
          damage 6:224: commit 8 is lost before this record
          LEFT-OPEN
          PREPARED
        other-life
          damage 4:56: the segment does not follow its predecessor
          damage 4:160: the record does not follow its predecessor
          LEFT-OPEN
          PREPARED
        other-commit
          damage 4:40: the first commit is 9 instead of 8
          damage 4:160: the record does not follow its predecessor
          LEFT-OPEN
          PREPARED
        misnamed
          damage 4:32: the header is that of segments 5...5
          damage 6:224: commit 8 is lost before this record
          LEFT-OPEN
          PREPARED
        overlapping
          damage 2-3:0: the file holds a part of the segments of 0000000001-0000000002.base
          LEFT-OPEN
          note 2-3:0: a base file has replaced it; the next opening removes it
          PREPARED
        """

    @Test func `a log that ends before a known commit is damaged`() throws {
        try expect(Self.short)
    }

    private static let short = """
        cut-before-checkpoint
          note 3:232: a torn tail, which the next opening cuts: the record length 160 is wrong
          damage 3:384: the log ends earlier, but 00000000000000000007.checkpoint contains commit 7
        cut-before-unreadable
          warning checkpoint:72: the hash of the pages does not match
          damage 3:232: opening fails: the record length 160 is wrong: \
        the log ends with commit 6, but 00000000000000000007.checkpoint names commit 7
        gone-before-checkpoint
          damage 3:384: the log ends earlier, but 00000000000000000007.checkpoint contains commit 7
        gone-all
          warning checkpoint:16: the checkpoint belongs to store 100f0e0d0c0b0a090807060504030201
          damage 1:0: opening fails: the log ends with commit 0, \
        but 00000000000000000007.checkpoint names commit 7
        closed-and-torn
          PREPARED
          damage 6:224: opening fails: the record's checksum does not match: \
        the log ends with commit 8, but 00000000000000000009.closed names commit 9
        """

    @Test func `a note where the next opening fails is withdrawn, and others stay`() throws {
        let found = try findings(in: "closed-without-header")
        #expect(
            found.suffix(2) == [
                "note 7:0: the segment was prepared but not begun; the next opening removes it",
                "damage 6:0: opening fails: the log ends with commit 7, "
                    + "but 00000000000000000009.closed names commit 9",
            ])
        #expect(!found.contains { $0.hasPrefix("note 6:") })
        #expect(
            try findings(in: "closed-without-last").last
                == "damage 5:320: opening fails: the log ends with commit 7, "
                + "but 00000000000000000009.closed names commit 9")
    }

    @Test func `an unusable checkpoint is a warning with its reason`() throws {
        for (name, expected) in FindingText.rows(Self.checkpoints) {
            let found = try findings(in: "checkpoint-" + name)
            #expect(found.count == 3 && found.last == expected.first, "\(name): \(found)")
        }
        let pages = [
            "level", "count", "prefix", "heap", "dead", "order", "bits", "record", "suffix",
            "weight", "weights",
        ]
        for name in pages {
            let found = try findings(in: "checkpoint-" + name)
            #expect(found.count == 3, "\(name)")
            #expect(
                found.last == "warning checkpoint:4160: page 1 is not a valid tree page",
                "\(name)")
        }
    }

    private static let checkpoints = """
        bit
          warning checkpoint:72: the hash of the pages does not match
        cut
          warning checkpoint:8367: the file has 8367 bytes and should have 8368
        longer
          warning checkpoint:8369: the file has 8369 bytes and should have 8368
        version
          warning checkpoint:8: the checkpoint has version 3 and pages of 4160 bytes
        former
          warning checkpoint:8: the checkpoint has version 1 and pages of 4160 bytes
        page-length
          warning checkpoint:8: the checkpoint has version 2 and pages of 4096 bytes
        store
          warning checkpoint:16: the checkpoint belongs to store 100f0e0d0c0b0a090000000000000007
        forgotten
          note checkpoint:40: it is too old: compaction has dropped removals after this checkpoint
        name
          warning checkpoint:32: the checkpoint covers commit 6
        links
          warning checkpoint:88: the index progress 8 is past the checkpoint's commit
        live-zeros
          warning checkpoint:8320: an entry of the live bytes is invalid or out of order
        live-order
          warning checkpoint:8336: an entry of the live bytes is invalid or out of order
        """

    @Test func `the counts are those of the vector store`() throws {
        let result = try Verifier.verify(SimulatedVolume(files: files))
        #expect(result.store == FormatVectorStore.id)
        #expect(result.baseCount == 1 && result.segmentCount == 4)
        #expect(result.checkpointCount == 1 && result.usableCheckpointCount == 1)
        #expect(result.recordCount == 8)
        #expect(result.commitCount == 4)
        #expect(result.operationCount == 12)
        #expect(result.lastCommit == 9)
        #expect(result.keyCount == 6)
        // The segments 1-2 to 7, and the checkpoint.
        #expect(result.byteCount == 512 + 480 + 408 + 408 + 360 + 480 + 8_368)
        #expect(result.omittedCount == 0)
        let damaged = try Verifier.verify(
            SimulatedVolume(files: try damage.changing(files, in: "missing")))
        #expect(damaged.keyCount == nil)
        #expect(damaged.lastCommit == 9 && damaged.commitCount == 3)
        #expect(damaged.usableCheckpointCount == 1)
    }

    @Test func `a file of a later version is no damage`() throws {
        let changed = try damage.changing(files, in: "version")
        #expect {
            try Verifier.verify(SimulatedVolume(files: changed))
        } throws: { error in
            guard case .unsupported(let damage) = error as? StorageError else { return false }
            return damage.file == "0000000006.log" && damage.offset == 8
        }
    }
}
