import Sheaf
import SheafBytes
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Frames of several subscriptions that a replicator receives in one read.
struct JoinedFramesTests {
    private let arguments: [UInt8]
    private let scene: FileScene

    init() throws {
        arguments = try Insertion.initial(Object(), NameTable())
        scene = try FileScene(1)
        for collection in ["cars", "boats"] {
            try scene.execute(
                0,
                DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS ({'_id': '\(collection)'})"))
        }
    }

    private func subscribe(_ generation: UInt64, _ collections: String...) -> Frame {
        let queries = collections.map {
            SubscribedQuery(text: "SELECT * FROM \($0)", arguments: arguments)
        }
        return Frame(
            .subscribe, Subscribe(generation: generation, queries, at: 0).parts[0].bytes)
    }

    private func ask(_ generation: UInt8) -> Frame {
        Frame(.ask, [generation] + RangeQuestion([]).bytes)
    }

    private func want(_ generation: UInt64) -> Frame {
        Frame(.want, Want(generation: generation, .all).bytes)
    }

    /// Returns the list responses, or decompressed segments, sent for the last generation.
    private func response(to frames: [Frame], areJoined: Bool, by peer: UInt16) throws -> [[UInt8]]
    {
        let replicator = scene.nodes[0].replicator
        replicator.connect(UInt64(peer), at: 1)
        var writer = FrameWriter()
        let hello = Frame(.hello, Hello.unknownPeer(peer).bytes)
        var reads = ([hello] + frames).map { writer.bytes(of: $0) }
        if areJoined { reads = [Array(reads.joined())] }
        var now: UInt64 = 1
        let generation = frames[frames.count - 1].body.first
        var (reader, segments, found) = (FrameReader(), ShippedSegmentReader(), [[UInt8]]())
        for read in reads {
            read.withUnsafeBytes { replicator.receive($0, on: UInt64(peer), at: now) }
            for _ in 0..<30 {
                for case .send(UInt64(peer), let bytes) in replicator.drainEffects() {
                    bytes.withUnsafeBytes { reader.append($0) }
                    while let frame = try reader.next() {
                        reader.limit = SyncLimits.frameLength
                        var bytes = frame.body
                        if frame.type == .segment {
                            // The compression of a segment depends on the earlier ones.
                            bytes = try bytes[2...].withUnsafeBytes { try segments.raw(of: $0) }
                        }
                        if frame.body.first == generation,
                            [.answer, .segment].contains(frame.type)
                        {
                            found.append(bytes)
                        }
                    }
                }
                now += 100_000_000
                replicator.tick(at: now)
            }
        }
        replicator.disconnect(UInt64(peer))
        return found
    }

    @Test func `a list belongs to the subscription that requests it`() throws {
        let last = [subscribe(2, "cars", "boats"), ask(2)]
        let expected = try response(to: last, areJoined: false, by: 1)
        #expect(expected.count == 1)
        let frames = [subscribe(1, "cars"), ask(1)] + last
        for areJoined in [false, true] {
            #expect(
                try response(to: frames, areJoined: areJoined, by: areJoined ? 2 : 3) == expected)
        }
    }

    @Test func `requested documents are sent for the subscription of the request`() throws {
        let last = [subscribe(2, "cars", "boats"), want(2)]
        let expected = try response(to: last, areJoined: false, by: 1)
        #expect(expected.count == 1)
        let frames = [subscribe(1, "cars"), want(1)] + last
        #expect(try response(to: frames, areJoined: true, by: 2) == expected)
    }
}
