import Foundation
import SheafStorage
import SheafTestSupport
import Testing

/// How soon a peer that runs ends when it is asked to.
struct StoppingTests {
    /// Milliseconds from SIGTERM to the end of the process.
    private func stoppingTime(of peer: RunningPeer) throws -> UInt64 {
        let start = Clock.system.monotonicNanoseconds()
        #expect(try peer.stop() == 0)
        return (Clock.system.monotonicNanoseconds() - start) / 1_000_000
    }

    @Test
    func `a peer ends within two seconds of SIGTERM while it evaluates an expensive subscription`()
        throws
    {
        let scene = PeerScene()
        let idle = try scene.serve("idle", "--listen", "127.0.0.1:0")
        _ = try idle.address()
        // On a machine with a high load, even this takes a while.
        let usual = try stoppingTime(of: idle)

        let server = try scene.serve("server", "--listen", "127.0.0.1:0")
        let address = try server.address()
        let big = String(repeating: "ab", count: 500)
        for first in stride(from: 0, to: 1_000, by: 100) {
            let documents = (first..<first + 100).map { "({'_id': \($0), 'big': '\(big)'})" }
            try server.execute("INSERT INTO cars DOCUMENTS " + documents.joined(separator: ", "))
        }
        // Each query costs a hundredth of a second for each document, and all cost more than the budget.
        var words = ["--connect", address]
        for query in 0..<32 {
            let terms = (0..<50).map { "char_length(repeat(big, 8)) = -\(query * 100 + $0)" }
            words += ["--subscribe", "SELECT * FROM cars WHERE " + terms.joined(separator: " OR ")]
        }
        _ = try scene.key("hostile.key")
        let hostile = try RunningPeer(
            "connect", store: scene.path("hostile"),
            ["--database", "scene", "--key", scene.path("hostile.key")] + words)
        // The server answers while it evaluates.
        while true {
            let peers = try server.status().peers
            if peers.contains(where: { ($0["wants"] as? [String])?.count == 32 }) { break }
        }
        #expect(try server.status().peers.allSatisfy { $0["isGiven"] as? Bool == false })
        let taken = try stoppingTime(of: server)
        #expect(taken < 2_000 + 2 * usual, "\(taken) ms, and \(usual) ms without a subscription")
        _ = try hostile.stop()
    }
}
