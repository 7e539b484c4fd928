import Sheaf
import SheafBytes
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// The vectors of `format-spec/commits.md`, which an encoder in another language has made.
@Suite struct CommitVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("commits.txt")
    }

    @Test func `the keys of documents are those of the specification`() throws {
        var count = 0
        for name in vectors.cases where vectors.has("\(name).id") {
            count += 1
            let id = try Value(jsonBytes: vectors.bytes("\(name).id"))
            let key = try vectors.bytes("\(name).key")
            let stored = StoreKey.document(collection: 258, id: try DocumentID.key(of: id))
            #expect(stored.bytes == key, "\(name)")
            #expect(key.withUnsafeBytes { StoreKey($0) } == stored, "\(name)")
            guard case .document(_, let bytes) = stored else { continue }
            #expect(try DocumentID.id(of: bytes) == id, "\(name)")
        }
        #expect(count == 6)
    }

    @Test func `the other keys are those of the specification`() throws {
        for (name, key) in [
            ("key-origin", StoreKey.origin), ("key-name", .name(7)),
            ("key-collection", .collection(258)), ("key-site", .site),
            ("key-former-sites", .formerSites), ("key-clock", .clock),
            ("key-pauses", .pauses(Site(rawValue: 0x0102_0304_0506_0708))),
        ] {
            let bytes = try vectors.bytes("\(name).key")
            #expect(key.bytes == bytes, "\(name)")
            #expect(bytes.withUnsafeBytes { StoreKey($0) } == key, "\(name)")
        }
        for wrong: [UInt8] in [
            [], [0], [5], [7, 0], [8, 0], [9], [9, 1, 2], [1, 0], [2, 0], [3, 0, 0, 0],
            [0x10, 0, 0],
        ] {
            #expect(wrong.withUnsafeBytes { StoreKey($0) } == nil, "\(wrong)")
        }
    }

    @Test func `the keys of unproven tokens are those of the specification`() throws {
        let key = try vectors.bytes("key-unproven.key")
        let document = try vectors.bytes("key-unproven.document")
        let stored = StoreKey.unprovenToken(
            attachment: try vectors.bytes("key-unproven.attachment"),
            document: document.withUnsafeBytes { SHA256.hash($0) })
        #expect(stored.bytes == key)
        #expect(key.withUnsafeBytes { StoreKey($0) } == stored)
        for wrong in [key + [0], key.dropLast()] {
            #expect(wrong.withUnsafeBytes { StoreKey($0) } == nil)
        }
    }

    @Test func `origins are those of the specification`() throws {
        let bytes = try vectors.bytes("origin.origin")
        let origin = try bytes.withUnsafeBytes { try CommitOrigin(decoding: $0) }
        #expect(origin.bytes == bytes)
        #expect(origin.stamp.site.rawValue == (try vectors.number("origin.site")))
        #expect(origin.stamp.time.rawValue == (try vectors.number("origin.time")))
        #expect(origin.peer.rawValue == (try vectors.number("origin.peer")))
        #expect(origin.commit == (try vectors.number("origin.commit")))
        for length in 0..<bytes.count {
            #expect(throws: Malformed.self) {
                try bytes.prefix(length).withUnsafeBytes { try CommitOrigin(decoding: $0) }
            }
        }
    }

    @Test func `site records are those of the specification, and others are refused`() throws {
        func record(_ bytes: [UInt8]) throws -> SiteRecord {
            try bytes.withUnsafeBytes { try SiteRecord(decoding: $0) }
        }
        var pauseCount = 0
        try vectors.forEach("siteRecord") { name, bytes in
            let said = try record(bytes)
            #expect(said.bytes == bytes, "\(name)")
            let clock = try vectors.number("\(name).clock")
            #expect(said.clock?.rawValue ?? 0 == clock, "\(name)")
            for (index, pause) in said.pauses.enumerated() {
                #expect(pause.after.rawValue == (try vectors.number("\(name).after\(index + 1)")))
                #expect(
                    pause.before.rawValue == (try vectors.number("\(name).before\(index + 1)")))
            }
            pauseCount += said.pauses.count
        }
        #expect(pauseCount == 3)
        try vectors.forEach("refusedSiteRecord") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try record(bytes) }
        }
    }

    @Test func `former sites are coded as in the vectors, and malformed ones fail`() throws {
        func sites(_ bytes: [UInt8]) throws -> FormerSites {
            try bytes.withUnsafeBytes { try FormerSites(decoding: $0) }
        }
        var count = 0
        try vectors.forEach("formerSites") { name, bytes in
            var said = try sites(bytes)
            #expect(said.bytes == bytes, "\(name)")
            #expect(
                said.sites.map(\.rawValue) == (1...said.sites.count).map(UInt64.init), "\(name)")
            said.add(Site(rawValue: 99))
            #expect(said.sites.last == Site(rawValue: 99), "\(name)")
            #expect(try sites(said.bytes) == said, "\(name)")
            count += 1
        }
        #expect(count == 2)
        try vectors.forEach("refusedFormerSites") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try sites(bytes) }
        }
    }

    @Test func `times of the clock are coded as in the vectors, and malformed ones fail`() throws {
        let bytes = try vectors.bytes("clock.clock")
        let time = try bytes.withUnsafeBytes { try HybridTime(decoding: $0) }
        #expect(time.rawValue == (try vectors.number("clock.time")))
        #expect(time.bytes == bytes)
        try vectors.forEach("refusedClock") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try HybridTime(decoding: $0) }
            }
        }
    }

    @Test func `pauses of other sites are coded as in the vectors, and malformed ones fail`()
        throws
    {
        let bytes = try vectors.bytes("pauses.pauses")
        let pauses = try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try reader.readPauses()
        }
        for (index, pause) in pauses.enumerated() {
            #expect(pause.after.rawValue == (try vectors.number("pauses.after\(index + 1)")))
            #expect(pause.before.rawValue == (try vectors.number("pauses.before\(index + 1)")))
            let forgotten = Site(rawValue: 0xABC).forgotten(in: pause)
            #expect(forgotten.rawValue == (try vectors.number("pauses.forgotten\(index + 1)")))
            let removal = forgotten.removal(ofSumsAt: ["n", "größe"], isOlder: index == 1)
            #expect(removal.rawValue == (try vectors.number("pauses.removal\(index + 1)")))
        }
        #expect(pauses.count == 2)
        var writer = ByteWriter(capacity: 32)
        writer.write(pauses)
        #expect(writer.bytes == bytes)
        try vectors.forEach("refusedPauses") { name, bytes in
            let pauses = try? bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                return try reader.readPauses()
            }
            #expect(pauses ?? [] == [], "\(name)")
        }
    }

    /// A store in which each operation of a chain has a commit of its own, behind that of the name
    /// of the collection.
    private func store(_ name: String, _ key: [UInt8]) throws -> (StoreEngine, count: Int) {
        let store = try StoreEngine(opening: SimulatedVolume(seed: 1), options: LogStoreOptions())
        var batch = WriteBatch()
        try batch.put(StoreKey.collection(0).bytes, Array("c".utf8))
        _ = try store.append(batch)
        var count = 0
        try vectors.bytes("\(name).operations").withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            while reader.remaining > 0 {
                let kind = try reader.readUInt8()
                let payload = Array(try reader.readLengthPrefixed(limit: 1 << 20))
                var batch = WriteBatch()
                if kind == 1 { try batch.put(key, payload) } else { try batch.extend(key, payload) }
                _ = try store.append(batch)
                count += 1
            }
        }
        try store.flush()
        return (store, count)
    }

    @Test func `chains lead to the states of the specification, and tell what changed`() throws {
        let key = StoreKey.document(collection: 0, id: [0x40, 0]).bytes
        var chains = 0
        for name in vectors.cases where vectors.has("\(name).operations") {
            chains += 1
            let (store, count) = try store(name, key)
            let snapshot = try DocumentEngine(store).snapshot()
            let document = try #require(try snapshot.document(key))
            let state = try vectors.bytes("\(name).state")
            try document.read { bytes in
                let document = try EncodedDocument(bytes)
                #expect(try document.settingBase(nil) == state, "\(name)")
                let value = try document.value(NameTable()).map { Value.object($0).json }
                let json =
                    vectors.has("\(name).json") ? try vectors.text("\(name).json") : nil
                #expect(try value == json.map { try Value(json: $0).json }, "\(name)")
            }
            for index in 1..<max(count, 1) {
                // The first commit has the name of the collection.
                let changes = try snapshot.changes(of: key, since: CommitID(index + 1))
                let expected = try vectors.bytes("\(name).since\(index)")
                switch changes {
                case .delta(let bytes), .state(let bytes):
                    #expect(bytes == expected, "\(name), since \(index)")
                case .nothing, .removed: Issue.record("\(name) has changed since \(index)")
                }
            }
            #expect(try snapshot.changes(of: key, since: CommitID(count + 1)) == .nothing)
            #expect(try snapshot.changes(of: key, since: 0) == .state(state), "\(name)")
        }
        #expect(chains == 7)
    }
}
