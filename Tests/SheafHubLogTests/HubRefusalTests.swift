import SheafBytes
import SheafDocument
import SheafHubLog
import SheafHubLogModel
import SheafTestSupport
import Testing

/// Tests of the reasons for which malformed structures of hubs are refused, with their offsets.
struct HubRefusalTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("hub.txt")
    }

    /// Expects each case to be refused for its reason.
    private func expect(
        _ name: String, prefix: String = "", _ reasons: [String: String],
        _ decode: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        for (start, reason) in reasons {
            let bytes = try vectors.bytes("\(start).\(name)")
            do {
                try bytes.withUnsafeBytes { try decode($0) }
                Issue.record("\(start) is accepted")
            } catch {
                #expect("\(error)" == prefix + reason, "\(start)")
            }
        }
    }

    /// Reads the payloads of messages, each of which follows its length.
    private func readGroup(_ bytes: UnsafeRawBufferPointer) throws {
        var pieces = ByteReader(bytes)
        var reader = HubGroupReader(commit: 300, shard: HubProbe.shard, in: try HubProbe.map())
        while pieces.remaining > 0 {
            let piece = try pieces.readLengthPrefixed(limit: 1 << 20)
            let message = try HubMessage(
                decoding: piece, log: HubProbe.log, shard: HubProbe.shard)
            _ = try reader.read(message.payload, isLast: pieces.remaining == 0)
        }
    }

    @Test func `a malformed message is refused with the offset of its field`() throws {
        let reasons: [String: String] = [
            "message-short": "the bytes end inside the value at offset 0",
            "message-long": "the length at offset 0 is 1000001, more than the 1000000 allowed",
            "message-signature": "another first field than SHB1 at offset 0",
            "message-version": "the byte 0 at offset 4 is not allowed here",
            "message-kind": "the byte 3 at offset 5 is not allowed here",
            "message-flags": "the byte 8 at offset 6 is not allowed here",
            "message-mark-flags": "the byte 1 at offset 6 is not allowed here",
            "message-reserved": "reserved bytes that are not zero at offset 7",
            "message-shard": "shard 3 in an entry of shard 2 at offset 8",
            "message-unconfirmed": "7 unconfirmed messages before sequence 7 at offset 10",
            "message-unconfirmed-first": "1 unconfirmed messages before sequence 1 at offset 10",
            "message-reserved-shard": "reserved bytes that are not zero at offset 12",
            "message-log": "the id of another log at offset 16",
            "message-author": "an author without a site or an opening at offset 32",
            "message-opening": "an author without a site or an opening at offset 32",
            "message-sequence": "sequence 0 with the previous checksum 0 at offset 48",
            "message-previous": "sequence 1 with the previous checksum 5 at offset 48",
            "message-previous-none": "sequence 2 with the previous checksum 0 at offset 48",
            "message-stored":
                "a stored entry above the one read, or a digest of no entries at offset 64",
            "message-digest":
                "a stored entry above the one read, or a digest of no entries at offset 64",
            "message-extent": "a base 300 with the commit 300 at offset 88",
            "message-mark-extent": "a base 299 with the commit 300 at offset 88",
            "message-replaced": "a base 3 with the commit 9 at offset 88",
            "message-replaced-order": "a base 5 with the commit 3 at offset 88",
            "message-replaced-none": "a base 0 with the commit 3 at offset 88",
            "message-length": "a payload of 1 bytes, where 2 follow, at offset 104",
            "message-length-more": "a payload of 3 bytes, where 2 follow, at offset 104",
            "message-empty": "a payload of 0 bytes, where 0 follow, at offset 104",
            "message-mark-payload": "a payload of 1 bytes, where 1 follow, at offset 104",
            "message-reserved-length": "reserved bytes that are not zero at offset 108",
        ]
        try expect("refusedMessage", prefix: "malformed message: ", reasons) {
            _ = try HubMessage(decoding: $0, log: HubProbe.log, shard: HubProbe.shard)
        }
    }

    @Test func `a malformed group is refused with its reason`() throws {
        let reasons: [String: String] = [
            "group-more": "a segment after the end of a group at offset 0",
            "group-end": "a group without its end at offset 9",
            "group-long": "the length at offset 0 is 16777281, more than the 16777280 allowed",
            "group-varint":
                "the variable-length integer at offset 0 exceeds 64 bits or is not in its "
                + "shortest form",
            "group-number": "commit 301 in a group of commit 300 at offset 0",
            "group-cut": "a commit with flags that no group has at offset 0",
            "group-estimate": "a commit with flags that no group has at offset 0",
            "group-two": "2 commits in a segment in place of one at offset 0",
            "group-none": "0 commits in a segment in place of one at offset 0",
            "group-stamp": "another stamp than that of the first segment at offset 0",
            "group-delta": "a delta in place of a complete document at offset 0",
            "group-twice": "documents whose addresses do not ascend at offset 0",
            "group-order": "documents whose addresses do not ascend at offset 0",
            "group-shard": "a document of shard 3 in shard 2 at offset 0",
            "group-pauses-none": "the bytes end inside the value at offset 0",
            "group-pauses-many": "the byte 17 at offset 9 is not allowed here",
            "group-site": "sites with pauses that do not ascend from 1 on at offset 1",
            "group-sites": "sites with pauses that do not ascend from 1 on at offset 26",
            "group-sites-many": "257 sites with pauses, more than the 256 allowed, at offset 0",
        ]
        try expect("refusedGroup", reasons, readGroup)
    }

    @Test func `a malformed configuration is refused with the offset of its field`() throws {
        let reasons: [String: String] = [
            "configuration-signature": "another first field than SHC1 at offset 0",
            "configuration-state": "the byte 2 at offset 4 is not allowed here",
            "configuration-format": "the byte 0 at offset 5 is not allowed here",
            "configuration-shards":
                "3 shards; the number is a power of two up to 256, at offset 0",
            "configuration-shards-none":
                "0 shards; the number is a power of two up to 256, at offset 0",
            "configuration-shards-many":
                "512 shards; the number is a power of two up to 256, at offset 0",
            "configuration-number": "a hub log without a number at offset 40",
            "configuration-hub":
                "a replacing hub, or its time, that does not match the state at offset 48",
            "configuration-until":
                "a replacing hub, or its time, that does not match the state at offset 48",
            "configuration-ownerless":
                "a replacing hub, or its time, that does not match the state at offset 48",
            "configuration-split": "the name `a` out of order at offset 0",
            "configuration-split-twice": "the name `a` out of order at offset 0",
            "configuration-split-many":
                "1025 collections, more than the 1024 allowed, at offset 88",
            "configuration-groups": "the name `a` out of order at offset 0",
            "configuration-group": "the name `c` out of order at offset 0",
            "configuration-group-twice":
                "the collection `c` in two groups, or split, at offset 0",
            "configuration-group-split":
                "the collection `c` in two groups, or split, at offset 0",
            "configuration-name": "the length at offset 89 is 1025, more than the 1024 allowed",
            "configuration-letters": "the text at offset 89 is not UTF-8",
            "configuration-count": "the bytes end inside the value at offset 88",
            "configuration-hash":
                "a hash that does not match the bytes before it at offset 245",
            "configuration-more": "bytes after the last field at offset 245",
            "configuration-end": "the bytes end inside the value at offset 237",
        ]
        try expect("refusedConfiguration", reasons) { _ = try HubConfiguration(decoding: $0) }
    }

    @Test func `a malformed manifest is refused with the offset of its field`() throws {
        let part = "a part without documents, or with more than all parts at offset"
        let reasons: [String: String] = [
            "manifest-signature": "another first field than SHS1 at offset 0",
            "manifest-shard": "shard 256 of 256 at offset 20",
            "manifest-digest": "a digest of no entries at offset 22",
            "manifest-author": "an author without a site or an opening at offset 38",
            "manifest-documents-more": "1 documents more than the parts have at offset 62",
            "manifest-authors-many": "1025 authors, more than the 1024 allowed, at offset 86",
            "manifest-authors-none": "an author without a site or an opening at offset 87",
            "manifest-sequence": "a checksum of no message at offset 87",
            "manifest-authors": "authors that do not ascend at offset 119",
            "manifest-authors-twice": "authors that do not ascend at offset 119",
            "manifest-sites": "sites with pauses that do not ascend from 1 on at offset 177",
            "manifest-parts": "the bytes end inside the value at offset 177",
            "manifest-parts-many":
                "1048577 parts, more than the 1048576 allowed, at offset 177",
            "manifest-part": "\(part) 178",
            "manifest-part-empty": "\(part) 178",
            "manifest-documents": "\(part) 200",
            "manifest-hash": "a hash that does not match the bytes before it at offset 218",
            "manifest-more": "bytes after the last field at offset 218",
            "manifest-end": "the bytes end inside the value at offset 217",
        ]
        try expect("refusedManifest", reasons) { _ = try SnapshotManifest(decoding: $0) }
    }

    @Test func `a malformed broadcast is refused with the offset of its field`() throws {
        let progress = "a stored entry above the one read, or a digest of no entries at offset"
        let ranges = "ranges of sequences that do not ascend from 1 on at offset"
        let reasons: [String: String] = [
            "broadcast-wrong-short": "the bytes end inside the value at offset 0",
            "broadcast-wrong-long":
                "the length at offset 0 is 65614, more than the 65536 allowed",
            "broadcast-wrong-signature": "another first field than SHP1 at offset 0",
            "broadcast-wrong-version": "the byte 2 at offset 4 is not allowed here",
            "broadcast-wrong-kind": "the byte 5 at offset 5 is not allowed here",
            "broadcast-wrong-log": "the id of another log at offset 6",
            "broadcast-wrong-author": "an author without a site or an opening at offset 54",
            "broadcast-wrong-flags": "the byte 4 at offset 70 is not allowed here",
            "broadcast-wrong-versions": "versions 2 to 1 at offset 71",
            "broadcast-wrong-versions-none": "versions 0 to 1 at offset 71",
            "broadcast-wrong-shards-many":
                "257 shards, more than the 256 allowed, at offset 98",
            "broadcast-wrong-shard": "shard 256 of 256 at offset 99",
            "broadcast-wrong-stored": "\(progress) 101",
            "broadcast-wrong-progress": "\(progress) 101",
            "broadcast-wrong-shards": "shards that do not ascend at offset 125",
            "broadcast-wrong-need-shard": "shard 256 of 256 at offset 70",
            "broadcast-wrong-need-author":
                "an author without a site or an opening at offset 72",
            "broadcast-wrong-ranges": "no ranges at offset 88",
            "broadcast-wrong-ranges-many":
                "257 ranges, more than the 256 allowed, at offset 88",
            "broadcast-wrong-range": "\(ranges) 89",
            "broadcast-wrong-range-none": "\(ranges) 89",
            "broadcast-wrong-ranges-overlap": "\(ranges) 105",
            "broadcast-wrong-incident": "the byte 5 at offset 72 is not allowed here",
            "broadcast-wrong-incident-none": "the byte 0 at offset 72 is not allowed here",
            "broadcast-wrong-end": "the bytes end inside the value at offset 89",
            "broadcast-wrong-more": "bytes after the last field at offset 97",
            "broadcast-wrong-hash":
                "a hash that does not match the bytes before it at offset 97",
        ]
        try expect("refusedBroadcast", reasons) {
            _ = try HubBroadcast(decoding: $0, log: HubProbe.log)
        }
    }

    @Test func `the hubs of another log are known by the beginning of a broadcast`() throws {
        let bytes = try vectors.bytes("broadcast-beat.broadcast")
        let other = HubLogID(low: HubProbe.log.low, high: HubProbe.log.high + 1)
        func isOfOther(_ bytes: [UInt8], than log: HubLogID) -> Bool {
            bytes.withUnsafeBytes { HubBroadcast.areOfOtherLog($0, than: log) }
        }
        #expect(!isOfOther(bytes, than: HubProbe.log))
        #expect(isOfOther(bytes, than: other))
        // The id ends after 22 bytes.
        #expect(isOfOther(Array(bytes.prefix(22)), than: other))
        #expect(!isOfOther(Array(bytes.prefix(21)), than: other))
        #expect(!isOfOther([0] + bytes, than: other))
    }
}
