import Sheaf
import SheafAttachments
import SheafDocument
import SheafHub
import SheafHubLog
import SheafMesh
import SheafStatements
import SheafSync
import Testing

/// The times at which a hub requests files of its clients, and the parts in which it puts them.
@Suite struct HubFileTimeTests {
    /// The last one of several hubs, and the machine that moves its files.
    private struct Mover {
        let log = LogDouble(seed: 1)
        let scene: DocumentScene
        let hub: Int
        var files: HubFiles

        init(hubs: Int = 1) throws {
            scene = try DocumentScene.hubs(log, hubs)
            hub = hubs - 1
            files = HubFiles(SceneHub(scene, hub), log.objects, FileHubs.settings)
            _ = try files.step()
        }

        /// Number of requests for files, and of ends of requests, that were sent to clients.
        var seeks: Int { scene.nodes[hub].sent.count { $0 == .seek } }

        /// Inserts documents, each of which references a file.
        func insert(_ samples: [SampleFile], by node: Int) throws {
            var arguments: [String: Value] = [:]
            for (number, sample) in samples.enumerated() {
                let car: Object = [
                    "_id": .string("car \(number)"), "photo": try sample.token.value,
                ]
                arguments["car\(number)"] = .object(car)
            }
            let list = samples.indices.map { "(:car\($0))" }.joined(separator: ", ")
            let text = "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS \(list)"
            try scene.execute(node, DQL(verbatim: text), QueryArguments(arguments))
            try scene.run()
        }

        /// Performs a step after a time in which the connections stay open.
        mutating func step(after milliseconds: UInt64) throws {
            var rest = milliseconds
            while rest > 5_000 {
                try scene.advance(milliseconds: 5_000)
                rest -= 5_000
            }
            try scene.advance(milliseconds: rest)
            _ = try files.step()
            try scene.run()
        }
    }

    @Test func `a file of a client of another hub is sought after ten seconds`() throws {
        var mover = try Mover(hubs: 2)
        try mover.insert([SampleFile(seed: 1, length: 10)], by: 2)
        try mover.step(after: 0)
        try mover.step(after: 9_999)
        #expect(mover.seeks == 0)
        try mover.step(after: 1)
        #expect(mover.seeks == 1)
    }

    @Test func `a file that no client has is sought for at most sixty seconds at a time`() throws {
        var mover = try Mover()
        try mover.insert([SampleFile(seed: 1, length: 10)], by: 1)
        // Until then, each attempt follows at the end of the search before.
        for seconds in [0, 1, 2, 4, 8, 16, 32] as [UInt64] {
            try mover.step(after: seconds * 1_000)
            #expect(mover.seeks == 1)
        }
        try mover.step(after: 59_999)
        #expect(mover.seeks == 1)
        try mover.step(after: 1)
        #expect(mover.seeks == 2)
        // The next attempt is 64 s after the last one.
        try mover.step(after: 3_999)
        #expect(mover.seeks == 2)
        try mover.step(after: 1)
        #expect(mover.seeks == 3)
    }

    @Test(arguments: [(4_999, false), (5_000, true), (5_001, true)] as [(UInt64, Bool)])
    func `a search makes room for another file after five seconds`(
        _ milliseconds: UInt64, _ hasRoom: Bool
    ) throws {
        var mover = try Mover()
        let samples = (0..<65).map { SampleFile(seed: 100 + $0, length: 10) }
        try mover.insert(samples, by: 1)
        // The second step tries the file for which the first one had no time.
        for _ in 0..<2 { try mover.step(after: 0) }
        #expect(mover.seeks == 64)
        try mover.step(after: milliseconds)
        // One search ends, and another one begins.
        #expect(mover.seeks == (hasRoom ? 66 : 64))
    }

    @Test func `a search that makes room for a file ends, and no other one`() throws {
        var mover = try Mover()
        let samples = (0..<65).map { SampleFile(seed: 100 + $0, length: 10) }
        try mover.insert(samples, by: 1)
        for _ in 0..<2 { try mover.step(after: 0) }
        mover.scene.nodes[mover.hub].keepsFrames = true
        try mover.step(after: 5_000)
        var (begun, ended): ([[UInt8]], [[UInt8]]) = ([], [])
        for bytes in mover.scene.nodes[mover.hub].frames
        where FrameType(rawValue: bytes[8]) == .seek {
            let seek = try bytes[9...].withUnsafeBytes { try Seek(decoding: $0) }
            if seek.hops > 0 { begun.append(seek.id) } else { ended.append(seek.id) }
        }
        // All searches are equally long; the first one is that of the lowest id.
        let ids = samples.map(\.id.bytes).sorted { $0.lexicographicallyPrecedes($1) }
        #expect(begun == [ids[64]])
        #expect(ended == [ids[0]])
    }

    @Test(arguments: [(524_287, 1), (524_288, 1), (524_289, 2)])
    func `a part of a file has the configured number of chunks`(
        _ length: Int, _ parts: Int
    ) throws {
        var mover = try Mover()
        #expect(FileHubs.settings.fileChunks == 2)
        let sample = SampleFile(seed: 1, length: length)
        _ = try mover.scene.nodes[0].store.attachments.add(sample.bytes)
        try mover.insert([sample], by: 0)
        repeat { try mover.step(after: 0) } while mover.files.isBusy
        let names = mover.log.objects.names.filter { $0.hasPrefix(HubObjectName.files) }
        let expected = (0..<parts).map { HubObjectName.file(sample.id, part: $0) }
        #expect(names == [HubObjectName.file(sample.id)] + expected)
    }
}
