import SheafBytes
import SheafDocument
import SheafSync
import SheafSyncModel
import SheafTestSupport
import Testing

/// The vectors of `format-spec/sync.md`, written by an independent encoder.
struct SyncVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("sync.txt")
    }

    private func frames(_ bytes: [UInt8]) throws -> [Frame] {
        var reader = FrameReader()
        bytes.withUnsafeBytes { reader.append($0) }
        var frames: [Frame] = []
        while let frame = try reader.next() { frames.append(frame) }
        return frames
    }

    @Test func `frames match the vectors, and malformed frames are refused`() throws {
        try vectors.forEach("frames") { name, bytes in
            let frames = try frames(bytes)
            var writer = FrameWriter()
            #expect(frames.flatMap { writer.bytes(of: $0) } == bytes)
            for (index, frame) in frames.enumerated() {
                let type = try vectors.number("\(name).type\(index + 1)")
                #expect(UInt64(frame.type.rawValue) == type)
                let body = try vectors.bytes("\(name).body\(index + 1)")
                #expect(frame.body == body)
            }
            #expect(!vectors.has("\(name).type\(frames.count + 1)"))
        }
        try vectors.forEach("refused") { name, bytes in
            #expect(throws: WireError.self, "\(name)") { try frames(bytes) }
        }
    }

    /// Returns the raw bytes of consecutive segments.
    private func expanded(_ name: String, _ bytes: [UInt8]) throws -> [[UInt8]] {
        let dropped = vectors.has("\(name).dropped") ? try vectors.number("\(name).dropped") : 0
        var segments = ShippedSegmentReader()
        var raws: [[UInt8]] = []
        try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            while reader.remaining > 0 {
                if raws.count + 1 == Int(dropped) { segments.dropHistory() }
                raws.append(try segments.raw(of: try reader.readLengthPrefixed(limit: 1_024)))
            }
        }
        return raws
    }

    @Test func `segments are expanded with the preceding segments as dictionary`() throws {
        try vectors.forEach("segments") { name, bytes in
            let raws = try expanded(name, bytes)
            for (number, raw) in raws.enumerated() {
                let expected = try vectors.bytes("\(name).raw\(number + 1)")
                #expect(raw == expected)
            }
            #expect(!vectors.has("\(name).raw\(raws.count + 1)"))
        }
        try vectors.forEach("refusedSegments") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try expanded(name, bytes) }
        }
    }

    @Test func `hello and close messages match the vectors, and bad ones are refused`() throws {
        func hello(_ bytes: [UInt8]) throws -> Hello {
            try bytes.withUnsafeBytes { try Hello(decoding: $0) }
        }
        func closeMessage(_ bytes: [UInt8]) throws -> CloseMessage {
            try bytes.withUnsafeBytes { try CloseMessage(decoding: $0) }
        }
        let bytes = try vectors.bytes("hello.hello")
        let decoded = try hello(bytes)
        #expect(decoded.bytes == bytes)
        #expect(decoded.versions.lowerBound == (try vectors.number("hello.lowest")))
        #expect(decoded.versions.upperBound == (try vectors.number("hello.highest")))
        #expect(decoded.isServer == (try vectors.number("hello.server") == 1))
        #expect(decoded.site.rawValue == (try vectors.number("hello.site")))
        #expect(decoded.wallMilliseconds == (try vectors.number("hello.clock")))
        #expect(decoded.peerKey == (try vectors.bytes("hello.key")))
        for (index, pause) in decoded.pauses.enumerated() {
            #expect(pause.after.rawValue == (try vectors.number("hello.after\(index + 1)")))
            #expect(pause.before.rawValue == (try vectors.number("hello.before\(index + 1)")))
        }
        #expect(decoded.pauses.count == 2)
        #expect(decoded.name == (try vectors.text("hello.name")))
        let end = try closeMessage(vectors.bytes("close.close"))
        #expect(end.bytes == (try vectors.bytes("close.close")))
        #expect(UInt64(end.code.rawValue) == (try vectors.number("close.code")))
        #expect(end.text == (try vectors.text("close.text")))
        try vectors.forEach("refusedHello") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try hello(bytes) }
        }
        try vectors.forEach("refusedClose") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try closeMessage(bytes) }
        }
    }

    @Test func `presence messages match the vectors, and malformed ones are refused`() throws {
        try vectors.forEach("presence") { name, bytes in
            let message = try bytes.withUnsafeBytes { try PresenceMessage(decoding: $0) }
            #expect(message.bytes == bytes)
            for (index, record) in message.records.enumerated() {
                func number(_ field: String) throws -> UInt64 {
                    try vectors.number("\(name).\(field)\(index + 1)")
                }
                func text(_ field: String) throws -> String {
                    try vectors.text("\(name).\(field)\(index + 1)")
                }
                #expect(record.version.opening == 1_700_000_000_000)
                #expect(record.version.salt == 7)
                #expect(record.version.count == (try number("count")))
                #expect(UInt64(record.neighbors.count) == (try number("neighbors")))
                #expect(record.description.isServer == (try number("server") == 1))
                #expect(record.description.name == (try text("name")))
                #expect(record.description.operatingSystem == (try text("system")))
                #expect(record.description.softwareVersion == (try text("version")))
                let metadata = try text("metadata")
                #expect(record.description.metadata == Array(metadata.utf8))
                let addresses = record.description.addresses.map { address in
                    "\(address.bytes.map(String.init).joined(separator: ".")) \(address.port)"
                }.joined(separator: ", ")
                let field = "\(name).addresses\(index + 1)"
                #expect(addresses == (try vectors.has(field) ? vectors.text(field) : ""))
            }
            #expect(!vectors.has("\(name).count\(message.records.count + 1)"))
        }
        try vectors.forEach("refusedPresence") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try PresenceMessage(decoding: $0) }
            }
        }
    }

    @Test func `attachment messages match the vectors, and malformed ones are refused`() throws {
        try vectors.forEach("seek") { name, bytes in
            let seek = try bytes.withUnsafeBytes { try Seek(decoding: $0) }
            #expect(seek.bytes == bytes)
            #expect(seek.id == Array(0..<32))
            #expect(UInt64(seek.hops) == (try vectors.number("\(name).hops")))
        }
        try vectors.forEach("offer") { name, bytes in
            let offer = try bytes.withUnsafeBytes { try Offer(decoding: $0) }
            #expect(offer.bytes == bytes)
            #expect(UInt64(offer.length) == (try vectors.number("\(name).length")))
        }
        try vectors.forEach("part") { name, bytes in
            let part = try bytes.withUnsafeBytes { try AttachmentPart(decoding: $0) }
            #expect(part.bytes == bytes)
            #expect(UInt64(part.kind.rawValue) == (try vectors.number("\(name).kind")))
            #expect(UInt64(part.number) == (try vectors.number("\(name).number")))
        }
        try vectors.forEach("partBytes") { name, bytes in
            let decoded = try bytes.withUnsafeBytes { try AttachmentBytes(decoding: $0) }
            #expect(decoded.bytes == bytes)
            #expect(decoded.content == (try vectors.bytes("\(name).content")))
        }
        try vectors.forEach("refusedSeek") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try Seek(decoding: $0) }
            }
        }
        try vectors.forEach("refusedOffer") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try Offer(decoding: $0) }
            }
        }
        try vectors.forEach("refusedPart") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try AttachmentPart(decoding: $0) }
            }
        }
        try vectors.forEach("refusedPartBytes") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try AttachmentBytes(decoding: $0) }
            }
        }
    }

    @Test func `shipped commits match the vectors, and malformed ones are refused`() throws {
        func read(_ bytes: [UInt8], _ names: inout NameTable) throws -> [ShippedCommit] {
            try bytes.withUnsafeBytes { try WireNameDictionary.commits(in: $0, &names) }
        }
        let expected = [
            ShippedCommit(
                commit: 300,
                stamp: Stamp(HybridTime(rawValue: 6 << 16), Site(rawValue: 5)),
                [
                    ShippedDocument(
                        collection: "cars", id: [0x40, 0x61, 0], .state, Array("a state".utf8)),
                    ShippedDocument(
                        collection: "cars", id: [0x40, 0x62, 0], .delta, Array("a delta".utf8)),
                ]),
            ShippedCommit(
                commit: 301, stamp: nil,
                ["\u{E9}", "e\u{301}"].enumerated().map { number, collection in
                    ShippedDocument(
                        collection: collection, id: [0x40, 0x61, 0], .state,
                        Array(["one", "two"][number].utf8))
                }),
            ShippedCommit(commit: 302, stamp: nil, [], isContinued: true),
            ShippedCommit(commit: 302, stamp: nil, [], isCut: true),
            ShippedCommit(commit: 302, stamp: nil, [], isCut: true, endsPart: true),
            ShippedCommit(commit: 303, stamp: nil, [], isCut: true, remaining: 2_000_000),
            ShippedCommit(
                commit: 303, stamp: Stamp(HybridTime(rawValue: 6 << 16), Site(rawValue: 5)), [],
                isContinued: true, remaining: 0),
        ]
        let bytes = try vectors.bytes("commits.commits")
        var names = NameTable()
        let commits = try read(bytes, &names)
        #expect(commits == expected)
        #expect(
            commits[1].documents.map { Array($0.collection.utf8) } == [
                [0xC3, 0xA9], [0x65, 0xCC, 0x81],
            ])
        #expect(names == NameTable(["color", "größe"]))
        var writer = CommitWriter()
        for commit in expected { commit.write(into: &writer) }
        var head = ByteWriter()
        WireNameDictionary.write(["color", "größe"].map { Array($0.utf8) }, into: &head)
        #expect(head.bytes + writer.bytes == bytes)
        try vectors.forEach("refusedCommits") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try read(bytes, &names) }
        }
    }

    private func checkWant(_ name: String, _ bytes: [UInt8]) throws {
        let decoded = try bytes.withUnsafeBytes { try Want(decoding: $0) }
        #expect(decoded.bytes == bytes)
        let generation = try vectors.number("\(name).generation")
        #expect(decoded.generation == generation)
        let count = vectors.has("\(name).count") ? try vectors.number("\(name).count") : nil
        switch decoded.documents {
        case .all: #expect(count == nil)
        case .some(let addresses, let isContinued):
            #expect(UInt64(addresses.count) == count)
            #expect(isContinued == (name == "want-more"))
        case .versions(let versions):
            #expect(versions == [1, .max])
            #expect(name == "want-versions")
        case .ranges(let ranges):
            #expect(ranges == [KeyRange(from: [], to: [1]), KeyRange(from: [1, 0])])
            #expect(name == "want-ranges")
        case .part(let addresses):
            #expect(UInt64(addresses.count) == count)
            #expect(name == "want-part")
        }
    }

    @Test func `subscription messages match the vectors, and malformed ones are refused`() throws {
        func subscribe(_ bytes: [UInt8]) throws -> SubscribePart {
            try bytes.withUnsafeBytes { try SubscribePart(decoding: $0) }
        }
        func want(_ bytes: [UInt8]) throws -> Want {
            try bytes.withUnsafeBytes { try Want(decoding: $0) }
        }
        func acknowledge(_ bytes: [UInt8]) throws -> Acknowledge {
            try bytes.withUnsafeBytes { try Acknowledge(decoding: $0) }
        }
        try vectors.forEach("subscribe") { name, bytes in
            let decoded = try subscribe(bytes)
            #expect(decoded.bytes == bytes)
            let generation = try vectors.number("\(name).generation")
            #expect(decoded.generation == generation)
            let commit =
                vectors.has("\(name).commit") ? try vectors.number("\(name).commit") : nil
            #expect(decoded.end?.commit == commit)
            let query = try vectors.text("\(name).query")
            #expect(decoded.queries[0].text == query)
            let cursor =
                vectors.has("\(name).cursor") ? try vectors.number("\(name).cursor") : nil
            #expect(decoded.end?.cursor?.commit == cursor)
            #expect(decoded.end?.complete.count ?? 0 == (cursor == nil ? 0 : 3))
        }
        try vectors.forEach("want", checkWant)
        try vectors.forEach("acknowledge") { name, bytes in
            let decoded = try acknowledge(bytes)
            #expect(decoded.bytes == bytes)
            let commit = try vectors.number("\(name).commit")
            #expect(decoded.commit == commit)
        }
        try vectors.forEach("refusedSubscribe") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try subscribe(bytes) }
        }
        try vectors.forEach("refusedWant") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try want(bytes) }
        }
        try vectors.forEach("refusedAcknowledge") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try acknowledge(bytes) }
        }
    }

    @Test func `announcements match the vectors, and malformed ones are refused`() throws {
        func announce(_ bytes: [UInt8]) throws -> Announce {
            try bytes.withUnsafeBytes { try Announce(decoding: $0) }
        }
        let bytes = try vectors.bytes("announce.announce")
        let decoded = try announce(bytes)
        #expect(decoded.bytes == bytes)
        #expect(decoded.commit == (try vectors.number("announce.commit")))
        let last = try #require(decoded.entries[0].vector.entries.last)
        #expect(last.site.rawValue == (try vectors.number("announce.site")))
        #expect(decoded.entries[1].vector.entries.isEmpty)
        try vectors.forEach("refusedAnnounce") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try announce(bytes) }
        }
    }

    @Test func `quarantine notices match the vectors, and malformed ones are refused`() throws {
        func notice(_ bytes: [UInt8]) throws -> QuarantineNotice {
            try bytes.withUnsafeBytes { try QuarantineNotice(decoding: $0) }
        }
        let bytes = try vectors.bytes("quarantine.quarantine")
        let decoded = try notice(bytes)
        #expect(decoded.bytes == bytes)
        #expect(decoded.count == (try vectors.number("quarantine.count")))
        #expect(decoded.latestMilliseconds == (try vectors.number("quarantine.latest")))
        #expect(decoded.wallMilliseconds == (try vectors.number("quarantine.clock")))
        try vectors.forEach("refusedQuarantine") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try notice(bytes) }
        }
    }

    @Test func `two peers use the highest version that both support`() throws {
        func hello(_ versions: ClosedRange<UInt64>) -> Hello {
            Hello(
                versions: versions, database: .init(low: 1, high: 2),
                peerKey: Array(repeating: 7, count: 32), site: Site(rawValue: 1),
                log: .init(low: 3, high: 4), nonce: 5, wallMilliseconds: 6, isServer: false,
                name: "")
        }
        #expect(hello(1...3).version(with: hello(2...9)) == 3)
        #expect(hello(2...9).version(with: hello(1...3)) == 3)
        #expect(hello(1...1).version(with: hello(1...4)) == 1)
        #expect(hello(1...2).version(with: hello(3...4)) == nil)
        #expect(hello(3...4).version(with: hello(1...2)) == nil)
    }

    @Test func `a mutated message is refused or reencodes identically`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("mutated messages, seed \(seed)")
        var random = SeededRandom(seed: seed, "what peers say")
        for name in vectors.names {
            // Vectors with number values are skipped.
            guard let base = try? vectors.bytes(name) else { continue }
            for type in UInt8(1)...40 where type == 40 || FrameType(rawValue: type) != nil {
                for _ in 0..<20 {
                    var bytes = [type] + base
                    for _ in 0..<random.below(4) {
                        bytes[random.below(bytes.count)] = UInt8(random.below(256))
                    }
                    if random.chance(1, in: 4) { bytes.removeLast(random.below(bytes.count)) }
                    let violation = bytes.withUnsafeBytes { SyncProbe.read($0) }
                    #expect(violation == nil, "\(name), type \(type), seed \(seed)")
                }
            }
            // Two connections are opened; a message is delivered on the first, followed by random
            // events.
            var events: [UInt8] = [0, 0, 0, 1, 5, 0, UInt8(min(base.count, 127))] + base
            events += random.bytes(20)
            let violation = events.withUnsafeBytes { SyncProbe.readPresence($0) }
            #expect(violation == nil, "\(name), seed \(seed)")
        }
    }
}
