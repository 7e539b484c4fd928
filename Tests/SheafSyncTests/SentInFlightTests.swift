import SheafBytes
import SheafSync
import SheafTestSupport
import Testing

/// The segments that a sender has in flight, before the receiver returns credit.
struct SentInFlightTests {
    private var peer = OpenSession()

    init() throws {
        _ = peer.receive(.subscribe, Subscribe(generation: 1, [], at: 0).parts[0].bytes)
        _ = peer.receive(.want, Want(generation: 1, .all).bytes)
    }

    /// Sends documents of 1,000 bytes while there is room; returns their number.
    ///
    /// They are sent in several segments, as in a first sync.
    private mutating func send(_ most: Int?, isCompressible: Bool) -> Int {
        var random = SeededRandom(seed: 1, "documents in flight")
        var count = 0
        while peer.session.hasRoom(expandedInFlight: most), count < 100_000 {
            peer.session.beginCommit(7, stamp: nil, isCut: true)
            for number in 0..<16 {
                let bytes =
                    isCompressible ? Array(repeating: 7, count: 1_000) : random.bytes(1_000)
                let id = [0x40, UInt8(number), 0]
                id.withUnsafeBytes { id in
                    bytes.withUnsafeBytes { peer.session.add("c", id: id, .state, $0) }
                }
            }
            peer.session.endCommit()
            peer.session.sendSegment()
            count += 16
        }
        return count
    }

    /// Whether an effect lets the host send again.
    private func hasRoom(_ effects: [SyncSession.Effect]) -> Bool {
        effects.contains { if case .roomToSend = $0 { true } else { false } }
    }

    @Test(arguments: [false, true])
    mutating func `the documents in flight have a bounded length`(_ isCompressible: Bool) {
        let count = send(2_000_000, isCompressible: isCompressible)
        // Without compression, 2,000 documents; the length of segments with it is estimated, and
        // there is room for 128 KiB of them in any case.
        #expect((isCompressible ? 2_000..<100_000 : 2_000..<2_040) ~= count, "\(count)")
        #expect(send(2_000_000, isCompressible: isCompressible) == 0)
    }

    @Test mutating func `returned credit makes room for more documents`() {
        _ = send(2_000_000, isCompressible: false)
        _ = peer.session.drainEffects()
        var writer = ByteWriter()
        writer.writeVarint(64 << 10)
        let effects = peer.receive(.credit, writer.bytes)
        #expect(hasRoom(effects))
        #expect(64..<96 ~= send(2_000_000, isCompressible: false))
    }

    @Test mutating func `a sender without a limit uses its credit`() {
        let count = send(nil, isCompressible: false)
        // A quarter of it remains for other documents.
        #expect(3_100..<3_200 ~= count, "\(count)")
    }

    @Test mutating func `with the smallest limit, enough is sent that credit returns`() {
        let count = send(1, isCompressible: false)
        #expect(count * 1_000 > 128 << 10)
        var writer = ByteWriter()
        writer.writeVarint(64 << 10)
        #expect(hasRoom(peer.receive(.credit, writer.bytes)))
    }
}
