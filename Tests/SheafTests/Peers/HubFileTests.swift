import Sheaf
import SheafAttachments
import SheafDocument
import SheafEngine
import SheafHub
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import Testing

/// The attachments of documents in the object store of the engine of hubs.
@Suite struct HubFileTests {
    private let file = SampleFile(seed: 21, length: 4 * 262_144 + 9)

    private func isFailed(_ event: HubFiles.Event) -> Bool {
        if case .failed = event { true } else { false }
    }

    /// The part of the file with a number.
    private func part(_ number: Int) -> String { HubObjectName.file(file.id, part: number) }

    /// Returns hubs after the first one has put the file of a client.
    private func stored() throws -> FileHubs {
        var hubs = try FileHubs()
        try hubs.add(file, to: 2)
        try hubs.insert("a", file, by: 2)
        #expect(try hubs.run(seconds: 3) == [.put(file.id)])
        return hubs
    }

    @Test func `a file reaches a client of another hub after its hub and its client are gone`()
        throws
    {
        var hubs = try stored()
        #expect(hubs.names == [HubObjectName.file(file.id), part(0), part(1), part(2)])
        try hubs.end(2)
        try hubs.end(0)
        #expect(try !hubs.has(file, 1))
        try hubs.fetch(file, by: 3)
        #expect(try hubs.run(seconds: 2) == [.loaded(file.id)])
        #expect(try hubs.has(file, 3))
        try hubs.run(seconds: 12)
        #expect(hubs.files[1]?.unstoredCount == 0)
    }

    @Test(arguments: SampleFile.all)
    func `files of any length are put and read`(_ file: SampleFile) throws {
        var hubs = try FileHubs()
        try hubs.add(file, to: 2)
        try hubs.insert("a", file, by: 2)
        try hubs.run(seconds: 3)
        try hubs.end(2)
        try hubs.end(0)
        try hubs.fetch(file, by: 3)
        try hubs.run(seconds: 2)
        #expect(try hubs.has(file, 3))
    }

    @Test func `the head of a file has its length and its list`() throws {
        let hubs = try stored()
        let length = withUnsafeBytes(of: UInt64(file.bytes.count).littleEndian) { Array($0) }
        let head = try hubs.objects.object(HubObjectName.file(file.id), limit: 1_000)
        #expect(head == length + file.list.hashes)
        #expect(try hubs.objects.object(part(2), limit: 1_000) == file.chunk(4))
    }

    @Test func `names of file objects are parsed, and others refused`() {
        let name = HubObjectName.file(file.id)
        #expect(HubObjectName.file(named: name)?.part == nil)
        for name in [name, name + "/0", name + "/17"] {
            #expect(HubObjectName.file(named: name)?.id == file.id)
        }
        #expect(HubObjectName.file(named: name + "/17")?.part == 17)
        for wrong in [name + "0", name + "/", name + "/01", name + "/-1", name + "/1/2", "part/1"] {
            #expect(HubObjectName.file(named: wrong) == nil, "\(wrong)")
        }
    }

    @Test func `a client that moves to another hub brings the file there`() throws {
        var hubs = try FileHubs()
        try hubs.add(file, to: 2)
        try hubs.insert("a", file, by: 2)
        try hubs.scene.run()
        try hubs.end(2)
        try hubs.run(seconds: 3)
        #expect(hubs.names == [])
        #expect(hubs.files[1]?.unstoredCount == 1)
        try hubs.scene.connect(1, 2)
        #expect(try hubs.run(seconds: 12).contains(.put(file.id)))
        // The first hub finds the object when it tries again.
        try hubs.run(seconds: 30)
        #expect(hubs.files[0]?.unstoredCount == 0)
    }

    @Test func `files that no peer has do not delay one that a client has`() throws {
        var hubs = try FileHubs()
        for number in 0..<300 {
            let missing = SampleFile(seed: 100 + number, length: 10)
            try hubs.insert("missing \(number)", missing, by: 2)
        }
        // By then each was sought once, and is sought again at ever longer intervals.
        try hubs.run(seconds: 40)
        try hubs.add(file, to: 2)
        try hubs.insert("a", file, by: 2)
        #expect(try hubs.run(seconds: 10) == [.put(file.id)])
    }

    // MARK: Faults of the engine

    @Test(arguments: [0, 1, nil])
    func `a damaged object is refused, and replaced by a hub that has the file`(
        _ number: Int?
    ) throws {
        var hubs = try stored()
        let name = number.map(part) ?? HubObjectName.file(file.id)
        let intact = try hubs.objects.object(name, limit: 1 << 20)
        hubs.objects.damage(name) { $0[$0.count - 1] ^= 1 }
        try hubs.end(2)
        try hubs.fetch(file, by: 3)
        let events = try hubs.run(seconds: 60)
        // The same failure is reported once, however often the object is read.
        #expect(events.count(where: isFailed) == 1)
        #expect(hubs.files[1]?.failure.map { "\($0)".contains(name) } == true)
        #expect(try !hubs.has(file, 3))
        #expect(hubs.names.contains(name))
        try hubs.scene.connect(1, 2)
        try hubs.run(seconds: 120)
        #expect(try hubs.has(file, 3))
        #expect(try hubs.objects.object(name, limit: 1 << 20) == intact)
        #expect(hubs.files[1]?.failure == nil)
    }

    @Test(
        arguments: [{ $0.removeLast() }, { $0.append(0) }] as [@Sendable (inout [UInt8]) -> Void])
    func `an object of another length is refused`(
        _ change: @Sendable (inout [UInt8]) -> Void
    ) throws {
        for name in [HubObjectName.file(file.id), part(1), part(2)] {
            var hubs = try stored()
            hubs.objects.damage(name, change)
            try hubs.end(2)
            try hubs.fetch(file, by: 3)
            #expect(try hubs.run(seconds: 2).contains(where: isFailed), "\(name)")
            #expect(try !hubs.has(file, 3))
        }
    }

    @Test func `a missing part is reported, and read when it is there again`() throws {
        var hubs = try stored()
        let bytes = try hubs.objects.object(part(1), limit: 1 << 20)
        try hubs.objects.remove(part(1))
        try hubs.end(2)
        try hubs.fetch(file, by: 3)
        let events = try hubs.run(seconds: 10)
        #expect(
            events == [.failed(file.id, .log(.missing("object \(part(1))")))])
        try hubs.objects.put(part(1), bytes)
        #expect(try hubs.run(seconds: 20).contains(.loaded(file.id)))
        #expect(try hubs.has(file, 3))
    }

    @Test func `a file that no hub has put yet is awaited without a report`() throws {
        var hubs = try FileHubs()
        try hubs.insert("a", file, by: 2)
        try hubs.fetch(file, by: 3)
        #expect(try hubs.run(seconds: 40) == [])
        try hubs.add(file, to: 2)
        try hubs.insert("b", file, by: 2)
        try hubs.run(seconds: 60)
        #expect(try hubs.has(file, 3))
    }

    @Test func `the hub that has a file puts parts again that the engine has lost`() throws {
        var hubs = try stored()
        try hubs.objects.remove(part(1))
        #expect(try hubs.run(seconds: 80).contains(.put(file.id)))
        #expect(hubs.names.contains(part(1)))
    }

    @Test func `a failure of the engine ends a step, and the next one continues`() throws {
        var hubs = try FileHubs()
        try hubs.add(file, to: 2)
        try hubs.insert("a", file, by: 2)
        hubs.objects.failWrites(after: 2)
        #expect(throws: SnapshotFailure.self) { try hubs.run(seconds: 3) }
        #expect(hubs.names == [part(0), part(1)])
        hubs.objects.failWrites(after: nil)
        #expect(try hubs.run(seconds: 3) == [.put(file.id)])
    }

    // MARK: Rights

    private static func rights(of owner: String) -> PeerRights {
        PeerRights(read: ["cars": "owner = '\(owner)'"], write: ["cars": "owner = '\(owner)'"])
    }

    @Test(arguments: ["ann", "bob"])
    func `a client receives only files of documents that it may read`(_ owner: String) throws {
        var hubs = try FileHubs(rightsOfSecond: Self.rights(of: "ann"))
        try hubs.add(file, to: 2)
        try hubs.insert("a", file, by: 2, owner: owner)
        try hubs.run(seconds: 3)
        try hubs.fetch(file, by: 3)
        try hubs.run(seconds: 20)
        #expect(try hubs.has(file, 3) == (owner == "ann"))
        #expect(try hubs.has(file, 1) == (owner == "ann"))
    }

    @Test func `an unproven token gives no client with limited rights the file`() throws {
        var hubs = try FileHubs(
            rightsOfFirst: Self.rights(of: "ann"), rightsOfSecond: Self.rights(of: "ann"))
        try hubs.add(file, to: 0)
        try hubs.insert("secret", file, by: 0, owner: "bob")
        try hubs.run(seconds: 2)
        #expect(hubs.names.count == 4)
        try hubs.insert("mine", file, by: 2)
        try hubs.run(seconds: 3)
        for client in [2, 3] { try hubs.fetch(file, by: client) }
        try hubs.run(seconds: 20)
        #expect(try !hubs.has(file, 2))
        #expect(try !hubs.has(file, 3))
    }

    @Test(arguments: [false, true])
    func `a proof at one hub is valid at the others`(_ isStored: Bool) throws {
        var hubs = try FileHubs(
            rightsOfFirst: Self.rights(of: "ann"), rightsOfSecond: Self.rights(of: "ann"))
        if isStored {
            try hubs.add(file, to: 0)
            try hubs.insert("secret", file, by: 0, owner: "bob")
            try hubs.run(seconds: 2)
        }
        try hubs.add(file, to: 2)
        try hubs.insert("a", file, by: 2)
        try hubs.run(seconds: 8)
        #expect(hubs.names.count == 4)
        for hub in 0..<2 {
            let snapshot = hubs.scene.nodes[hub].store.queries.documents.snapshot()
            #expect(!snapshot.hasUnprovenTokens, "hub \(hub)")
        }
        try hubs.end(2)
        try hubs.end(0)
        try hubs.fetch(file, by: 3)
        try hubs.run(seconds: 5)
        #expect(try hubs.has(file, 3))
    }

    @Test func `proofs of tokens are requested once the peer has read them`() throws {
        let hubs = try FileHubs()
        let hub = hubs.scene.nodes[0]
        #expect(!hub.replicator.requestProofs(of: [file.id], through: hub.newestCommit + 1))
        #expect(hub.replicator.requestProofs(of: [file.id], through: hub.newestCommit))
    }

    @Test func `files that hubs fetch count for the quota of a client`() throws {
        var limits = ReplicatorLimits()
        limits.receivedAttachments = 300_000
        var hubs = try FileHubs(rightsOfFirst: Self.rights(of: "ann"), limits: limits)
        try hubs.add(file, to: 2)
        try hubs.insert("a", file, by: 2)
        try hubs.run(seconds: 20)
        #expect(hubs.names == [])
    }

    // MARK: Removal

    @Test func `files are removed a week after the last document that references them`() throws {
        var hubs = try stored()
        let other = SampleFile(seed: 22, length: 5_000)
        try hubs.add(other, to: 3)
        try hubs.insert("b", other, by: 3)
        try hubs.run(seconds: 61)
        try hubs.scene.execute(3, "DELETE FROM cars WHERE _id = 'b'")
        try hubs.run(seconds: 61)
        let day: UInt64 = 24 * 3_600_000
        try hubs.scene.advance(milliseconds: 6 * day)
        // Hubs find each other again before one of them removes anything.
        #expect(try hubs.run(seconds: 65) == [])
        try hubs.scene.advance(milliseconds: day)
        #expect(try hubs.run(seconds: 65) == [.removed(other.id)])
        #expect(hubs.names == [HubObjectName.file(file.id), part(0), part(1), part(2)])
    }

    @Test func `no file is removed while its hubs cannot read the log`() throws {
        var hubs = try stored()
        try hubs.scene.execute(2, "DELETE FROM cars WHERE _id = 'a'")
        try hubs.run(seconds: 61)
        let author = HubAuthor(site: Site(rawValue: 99), opening: 1)
        var chain = HubMessageChain(log: DocumentScene.logID, shard: 0, author: author)
        // The payload is no group.
        let messages = chain.messages(of: [1, 9], HubMessage.Extent(base: 0, commit: 1), .start)
        for message in messages { hubs.log.insert(message.bytes, into: 0) }
        try hubs.run(seconds: 61)
        try hubs.scene.advance(milliseconds: 8 * 24 * 3_600_000)
        #expect(try hubs.run(seconds: 65) == [])
        #expect(hubs.names.count == 4)
    }

    @Test func `a file that is referenced again in time stays`() throws {
        var hubs = try stored()
        try hubs.scene.execute(2, "DELETE FROM cars WHERE _id = 'a'")
        try hubs.run(seconds: 61)
        let day: UInt64 = 24 * 3_600_000
        try hubs.scene.advance(milliseconds: 6 * day)
        // The client was disconnected in these days.
        try hubs.insert("b", file, by: 0)
        try hubs.run(seconds: 65)
        try hubs.scene.execute(0, "DELETE FROM cars WHERE _id = 'b'")
        try hubs.run(seconds: 65)
        try hubs.scene.advance(milliseconds: 2 * day)
        #expect(try hubs.run(seconds: 65) == [])
        #expect(hubs.names.count == 4)
    }
}
