import Foundation
import SheafTestSupport
import Testing

/// Commands on peers with unreachable addresses.
struct UnreachablePeerTests {
    @Test func `an unreachable address is shown with its reason`() throws {
        let scene = PeerScene()
        let ann = try scene.connect("ann", "--connect", "127.0.0.1:1")
        _ = try ann.line("unreachable 127.0.0.1:1")
        let lines = try ToolRun(["sync", "status", ann.store]).lines
        let line = try #require(lines.first { $0.hasPrefix("127.0.0.1:1 unreachable: address: ") })
        #expect(line.contains("; attempt ") && line.contains(", next at "))
        let entry = try #require(
            (ann.status().object["unreachable"] as? [[String: Any]])?.first)
        #expect(entry["address"] as? String == "127.0.0.1:1")
        let (last, next) = (entry["lastAttemptMilliseconds"], entry["nextAttemptMilliseconds"])
        #expect(try #require(last as? Int) <= #require(next as? Int))
        let unknownPeer = "pk:" + String(repeating: "0", count: 64)
        let unknown = try ToolRun(["explain-sync", ann.store, "cars", "a", unknownPeer])
        #expect(unknown.status == 1 && unknown.errors.contains("127.0.0.1:1 is unreachable: "))
        #expect(try ann.stop() == 0)
    }
}
