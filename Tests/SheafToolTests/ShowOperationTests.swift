import Foundation
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of how operations other than those of documents are shown.
@Suite struct ShowOperationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path("store") }

    private static let site = Site(rawValue: 0x0123_4567_89AB_CDEF)
    private static let otherSite = Site(rawValue: 0xC)
    private static let time = HybridTime(milliseconds: 1_780_000_000_000, counter: 7)
    private static let token = StoreKey.unprovenToken(
        attachment: (0..<32).map { UInt8($0) }, document: [UInt8](repeating: 9, count: 32))
    private static let tokenText =
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

    /// Returns numbers of 64 bits, little-endian.
    private func bytes(_ numbers: UInt64...) -> [UInt8] {
        numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
    }

    /// Writes one commit for each list of operations; an operation without a payload removes.
    private func write(_ commits: [(key: StoreKey, payload: [UInt8]?)]...) throws {
        let engine = try StoreEngine(
            opening: try PosixVolume(path: path, creatingDirectory: true))
        for operations in commits {
            var batch = WriteBatch()
            for (key, payload) in operations {
                if let payload {
                    try batch.put(key.bytes, payload)
                } else {
                    try batch.remove(key.bytes)
                }
            }
            _ = try engine.append(batch)
        }
        try engine.close()
    }

    /// Writes a commit with an operation of each kind, and one that removes some of their keys.
    private func fill() throws {
        let progress = { (count: UInt64) in
            ImportProgress(collection: "cars", source: "cars\n.csv", importedCount: count).bytes
        }
        let shard = bytes(1, 2, 9, 5, 6, 7) + [0]
        try write(
            [
                (.name(0), Array("color\n".utf8)), (.collection(0), Array("cars".utf8)),
                (.site, SiteRecord(site: Self.site, directory: 1).bytes),
                (.formerSites, bytes(0xA, 0xB)), (.clock, Self.time.bytes),
                (.pauses(Self.otherSite), bytes(1, 5, 10, 20)),
                (.importProgress(1), progress(1)), (.importProgress(2), progress(2_000)),
                (.storedShard(3), shard), (Self.token, []),
                // There is only one collection, number 0.
                (.document(collection: 1, id: try DocumentID.key(of: "b")), [1]),
            ],
            [(.pauses(Self.otherSite), nil), (.importProgress(1), nil), (Self.token, nil)])
    }

    @Test func `each kind of operation has its own line`() throws {
        try fill()
        let first = try ToolRun(["show", path, "1"])
        #expect(first.status == 0 && first.errors.isEmpty)
        #expect(
            first.lines.dropFirst() == [
                #"name 0  "color\n""#, #"collection 0  "cars""#, "site  0123456789abcdef",
                "former sites  000000000000000a  000000000000000b",
                "clock  2026-05-28T20:26:40.000Z, counter 7",
                "pauses of another site  000000000000000c, 2",
                #"import  "cars\n.csv" into "cars", 1 document so far"#,
                #"import  "cars\n.csv" into "cars", 2000 documents so far"#,
                "hub log  shard 3, entry 9", "unproven token  \(Self.tokenText)",
                #"put     \x10\x00\x01@b\x00  1 byte  \x01"#,
            ])
        let second = try ToolRun(["show", path, "2"]).lines
        #expect(
            second.dropFirst() == [
                "drop pauses  000000000000000c", "end of an import",
                "proven token  \(Self.tokenText)",
            ])
    }

    /// Returns what follows the keys of all operations in each line of JSON.
    private func ends(_ commit: String, _ words: String...) throws -> [String] {
        try ToolRun(["show", path, commit, "--json"] + words).lines.map { line in
            line.components(separatedBy: #""compacted":false"#).last ?? line
        }
    }

    @Test func `each kind of operation has its own keys in JSON`() throws {
        try fill()
        #expect(
            try ends("1") == [
                #","name":"color\n","number":0}"#, #","collection":"cars","number":0}"#,
                #","site":"0123456789abcdef"}"#,
                #","formerSites":["000000000000000a","000000000000000b"]}"#,
                // 1,780,000,000,000 milliseconds, shifted by 16 bits, and the counter.
                #","clock":116654080000000007}"#,
                #","otherSite":"000000000000000c","pauses":2}"#,
                #","import":"cars\n.csv","collection":"cars","imported":1}"#,
                #","import":"cars\n.csv","collection":"cars","imported":2000}"#,
                #","shard":3,"entry":9}"#,
                #","attachment":"\#(Self.tokenText)","proven":false}"#, "}",
            ])
        #expect(
            try ends("2") == [
                #","otherSite":"000000000000000c","pauses":0}"#,
                #","import":null,"collection":null,"imported":null}"#,
                #","attachment":"\#(Self.tokenText)","proven":true}"#,
            ])
    }

    @Test func `with --bytes, and if they are malformed, operations are shown as bytes`() throws {
        let keys: [(key: StoreKey, text: String)] = [
            (.origin, #"\x01"#), (.site, #"\x04"#), (.formerSites, #"\x07"#), (.clock, #"\x08"#),
            (.pauses(Self.otherSite), #"\x09\x00\x00\x00\x00\x00\x00\x00\x0c"#),
            (.importProgress(3), #"\x0a\x00\x00\x00\x00\x00\x00\x00\x03"#),
            (.storedShard(4), #"\x0b\x00\x04"#),
            (.index(collection: 0, number: 0), #"\x05\x00\x00\x00\x00"#),
        ]
        try write(
            keys.map { (key: $0.key, payload: [1]) },
            [(.name(0), Array("a".utf8)), (.site, nil)])
        let lines = try ToolRun(["show", path, "1"]).lines
        #expect(lines.dropFirst().elementsEqual(keys.map { #"put     \#($0.text)  1 byte  \x01"# }))
        #expect(try ends("1") == keys.map { _ in "}" })
        let bytes = try ToolRun(["show", path, "2", "--bytes"]).lines
        try #require(bytes.count == 3)
        #expect(bytes[1] == #"put     \x02\x00\x00  1 byte  a"#)
        #expect(bytes[2].hasPrefix(#"remove  \x04, after "#))
        #expect(try ends("2", "--bytes") == ["}", "}"])
    }
}
