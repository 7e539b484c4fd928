import SheafStorage
import SheafTestSupport
import Testing

/// Findings for single changed fields of the vector store, with valid checksums.
@Suite struct InspectionFieldTests {
    private let files: [String: [UInt8]]
    private let seal: FormatVectorChecksums
    private let base = "0000000001-0000000002.base"

    init() throws {
        files = try FormatVectorFiles().files
        seal = FormatVectorChecksums(files)
    }

    /// Returns the store with the fields of a text set, such as "3 @400 *8 = 7, base @72 *8 = 1".
    ///
    /// A field is a file, an offset, a size in bytes and its new value.
    private func changing(_ fields: String) throws -> [String: [UInt8]] {
        var changed = files
        for field in fields.split(separator: ", ") {
            let parts = field.split(separator: " ")
            let offset = try #require(Int(parts[1].dropFirst()))
            let size = try #require(Int(parts[2].dropFirst()))
            let value = try #require(VectorNumber.value(String(parts[4])))
            let name = try name(of: String(parts[0]))
            let bytes = try #require(changed[name])
            changed[name] = FormatVectorBytes.setting(bytes, size, at: offset, to: value)
        }
        return seal.sealing(changed)
    }

    private func name(of file: String) throws -> String {
        switch file {
        case "base": return base
        case "checkpoint": return FormatVectorStore.checkpoint
        default:
            let number = try #require(UInt32(file))
            return FileName.name(ofSegment: number)
        }
    }

    /// Returns the findings that are not notes.
    private func verify(_ files: [String: [UInt8]]) throws -> [String] {
        try Verifier.verify(SimulatedVolume(files: files)).findings
            .filter { $0.severity != .note }.map(FindingText.text)
    }

    private func expect(_ table: String, withCheckpoint: Bool = false) throws {
        for (fields, expected) in FindingText.rows(table) {
            var changed = try changing(fields)
            // Its record pointers and its checksum are those of the unchanged log.
            if !withCheckpoint { changed[FormatVectorStore.checkpoint] = nil }
            let found = try verify(changed)
            #expect(found == expected, "\(fields)")
        }
    }

    @Test func `a changed header of a file is damage`() throws {
        try expect(
            """
            3 @72 *8 = 1
              damage 3:72: a log segment has no compacted commits
            base @72 *8 = 4
              damage 1-2:72: the header's last compacted commit is 4, \
            but the file contains commit 5
            base @72 *8 = 9
            base @72 *8 = 10
              damage 1-2:72: commit 10 was compacted, but the log ends with commit 9
            base @68 *4 = 1
              damage 1-2:32: segments 1...2 are not a valid range
            """)
    }

    @Test func `a changed footer is damage`() throws {
        try expect(
            """
            3 @400 *8 = 3
              damage 3:400: the footer counts 3 records, but the file has 2
            3 @408 *8 = 8
              damage 3:408: the footer's last commit is 8, not 7
              damage 4:40: the first commit is 8 instead of 9
            3 @416 *8 = 1780000007001
              damage 3:416: the footer's time is not that of its last commit
            3 @440 *8 = 128
              damage 3:440: a log segment has no directory
            3 @448 *8 = 3:384
            3 @448 *8 = 3:385
              damage 3:448: the synced position is past the footer
            3 @456 *8 = 1
              damage 3:456: the last compacted removal 0:1 is outside the file
            base @480 *8 = 128
              damage 1-2:480: the directory is at 344, not at the footer's offset
            base @496 *8 = 2:4294967295
            base @496 *8 = 3:0
              damage 1-2:496: the last compacted removal 3:0 is outside the file
            """)
    }

    @Test func `records that are not those of the next commits are damage`() throws {
        try expect(
            """
            3 @240 *8 = 8
              damage 3:240: commit 8 follows commit 6
              damage 4:144: commit 8 follows commit 8
            3 @240 *8 = 6
              damage 3:240: commit 6 follows commit 6
              damage 4:144: commit 8 follows commit 6
            3 @272 *8 = 1780000005999
              damage 3:272: commit 7 is older than the commit before it
              damage 3:416: the footer's time is not that of its last commit
              damage 4:352: the footer's time is not that of its last commit
              damage 5:352: the footer's time is not that of its last commit
            3 @272 *8 = 1780000006000
              damage 3:416: the footer's time is not that of its last commit
              damage 4:352: the footer's time is not that of its last commit
              damage 5:352: the footer's time is not that of its last commit
            5 @188 *4 = 2
              damage 5:188: the records of commit 8 are not in order
              damage 6:224: commit 8 is lost before this record
            5 @176 *8 = 1780000008001
              damage 5:188: the records of commit 8 are not in order
              damage 6:224: commit 8 is lost before this record
            5 @144 *8 = 9
              damage 5:188: the records of commit 9 are not in order
              damage 6:224: commit 8 is lost before this record
            6 @140 *1 = 3
              damage 6:236: commit 9 begins before commit 8 has ended
              damage 6:240: commit 9 follows commit 7
            3 @140 *1 = 5
              damage 3:140: a log segment holds a record of a base file
              damage 3:224: commit 6 is lost before this record
            3 @140 *1 = 6
              damage 3:140: a log segment holds a record of a base file
              damage 3:224: commit 6 is lost before this record
            """)
    }

    @Test func `a commit may begin again in the next segment`() throws {
        // The first record of commit 8 stays in segment 4, as after a crash within the commit.
        let fields = "5 @140 *1 = 2, 5 @188 *4 = 0, 6 @188 *4 = 1"
        try expect(fields)
        var changed = try changing(fields)
        changed[FormatVectorStore.checkpoint] = nil
        let result = try Verifier.verify(SimulatedVolume(files: changed))
        #expect(result.commitCount == 4 && result.lastCommit == 9)
        #expect(result.operationCount == 11)
        #expect(result.keyCount == 5)
    }

    @Test func `a changed record of a base file is damage`() throws {
        try expect(
            """
            base @224 *8 = 6
              damage 1-2:289: the operation's commit 6 is not in 1...5
            base @248 *8 = 4
              damage 1-2:144: the record's commit is not its last operation's
            base @408 *8 = 2:193
              damage 1-2:408: the directory does not match the records
            base @416 *4 = 136
              damage 1-2:408: the directory does not match the records
            base @420 *4 = 2
              damage 1-2:408: the directory does not match the records
            base @356 *1 = 1
              damage 1-2:356: a base file holds a record of a log segment
            """)
    }

    @Test func `an operation refers to the operation before it, or to one compacted away`()
        throws
    {
        try expect(
            """
            3 @200 *8 = 2:216
              damage 3:200: the operation's previous position is 2:216, not 2:217
            3 @200 *8 = 2:218
            3 @200 *8 = 2:312
              damage 3:200: the operation's previous position is 2:312, not 2:217
            3 @200 *8 = 4:192
              damage 3:200: the operation's previous position is 4:192, not 2:217
            3 @326 *8 = 3:288
              damage 3:326: the operation's previous position is 3:288, not none
            3 @326 *8 = 2:300
            6 @347 *1 = 57, 6 @331 *8 = 0
              damage 6:331: the operation is a delta of a key that has no payload
            6 @347 *1 = 52, 6 @331 *8 = 6:192
              damage 6:331: the operation is a delta of a key that has no payload
            6 @347 *1 = 57
              damage 6:331: the operation's previous position is 2:312, not none
            """)
    }

    @Test func `a checkpoint of other keys than the log is found`() throws {
        let differ = "the keys differ from those of the log: "
        try expect(
            """
            checkpoint @8344 *8 = 31
              warning checkpoint:8320: the live bytes do not match the tree
            checkpoint @8319 *1 = 128
              warning checkpoint:4160: the tree contains the invalid record pointer 1:448
            checkpoint @8284 *8 = 3:287
              damage checkpoint:4160: \(differ)\
            the key whose newest operation is at 3:288 is at 3:287
            checkpoint @4275 *1 = 54
              damage checkpoint:4160: \(differ)\
            the key whose newest operation is at 3:349 is missing
            checkpoint @4247 *1 = 98
              damage checkpoint:4160: \(differ)there are 7 keys instead of 6
            checkpoint @4242 *1 = 57
            checkpoint @4242 *1 = 57, checkpoint @8308 *8 = 2:217, \
            checkpoint @8328 *8 = 0, checkpoint @8344 *8 = 55
              damage checkpoint:4160: \(differ)a removal at 2:217 is not in the log
            """, withCheckpoint: true)
        // The last operation of the checkpoint is not before its end.
        let found = try verify(changing("checkpoint @40 *8 = 3:349"))
        #expect(
            found.first
                == "warning checkpoint:4160: the tree contains the invalid record pointer 3:349")
    }

    @Test func `missing base files and footers cost the commits that they hold`() throws {
        var changed = files
        changed[base] = nil
        #expect(
            try verify(changed) == [
                "damage 1:0: the segments 1 to 2 are missing",
                "damage 3:128: commits 1 to 5 are lost before this record",
            ])
        changed[base] = Array(try #require(files[base]).prefix(424))
        #expect(
            try verify(changed) == [
                "damage 1-2:424: the footer of a base file is missing",
                "damage 3:128: commits 1 to 5 are lost before this record",
            ])
        changed = files
        for offset in [200, 300] { changed["0000000003.log"]?[offset] ^= 1 }
        #expect(
            try verify(changed) == [
                "damage 3:128: the record's checksum does not match "
                    + "(256 bytes up to offset 384 are not a record)",
                "damage 4:128: commits 6 to 7 are lost before this record",
            ])
    }

    @Test func `a base file may hold segments of any number`() throws {
        let number = UInt64(Limits.maximumFiles) + 2
        // The last operation of the base file gets the highest segment number.
        let changed = try changing(
            "base @36 *4 = \(number), base @240 *8 = \(number):312")
        let name = FileName.name(ofBase: 1...UInt32(number))
        let volume = SimulatedVolume(files: [name: try #require(changed[base])])
        let result = try Verifier.verify(volume)
        #expect(result.findings == [])
        #expect(result.keyCount == 2 && result.lastCommit == 5)
    }

    @Test func `findings beyond the limit are counted, and their damage is noticed`() {
        var result = Verification()
        for offset in 0..<Verification.maximumFindings {
            result.add(Finding(.note, "file", at: offset, "reason"))
        }
        #expect(result.omittedCount == 0 && !result.isDamaged)
        result.add(Finding(.warning, "file", at: 0, "reason"))
        #expect(result.omittedCount == 1 && !result.isDamaged)
        result.add(Finding(.damage, "file", at: 7, "reason"))
        #expect(result.findings.count == 10_000)
        #expect(result.omittedCount == 2 && result.isDamaged)
        #expect("\(Finding(.damage, "file", at: 7, "reason"))" == "file:7: reason")
    }
}

/// Numbers and log positions in tests.
private enum VectorNumber {
    /// Returns a decimal number, or a log position written as `segment:offset`.
    static func value(_ text: String) -> UInt64? {
        let halves = text.split(separator: ":").compactMap { UInt64($0) }
        guard halves.count == 2 else { return UInt64(text) }
        return halves[0] << 32 | halves[1]
    }
}
