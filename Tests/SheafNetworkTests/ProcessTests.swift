import Foundation
import SheafNetwork
import SheafTestSupport
import Testing

/// Transports in two processes, observed from outside.
struct ProcessTests {
    private static let program = BuiltProgram.path(of: "sheaf-network")

    private func value(_ name: String, in lines: [String]) -> String? {
        lines.first { $0.hasPrefix(name + " ") }.map { String($0.dropFirst(name.count + 1)) }
    }

    /// Starts a listening process; returns it and its address.
    private func server() throws -> (ChildProcess, String) {
        let server = try ChildProcess(Self.program, ["serve"])
        let lines = server.lines(until: deadline()) ?? []
        return (server, try #require(value("listening", in: lines)))
    }

    @Test func `all bytes arrive in the other process`() throws {
        let (server, address) = try server()
        let (code, output) = try ChildProcess.run(Self.program, ["send", address, "32"])
        #expect(code == 0)
        print("transfer between processes: \(value("rate", in: output) ?? "none")")
        let serverOutput = server.remainingLines()
        #expect(value("received", in: serverOutput) == "\(32 << 20)")
        #expect(server.wait() == 0)
    }

    @Test func `the death of a peer does not crash the other process`() throws {
        let (server, address) = try server()
        let sender = try ChildProcess(Self.program, ["send", address, "100000"])
        #expect(sender.lines(until: deadline()) == ["sending"])
        server.kill()
        #expect(server.wait() == 128 + 9)
        // The sender detects the lost connection and exits normally instead of by a signal.
        #expect(sender.wait() == 1)
    }

    @Test func `a flood of connections does not make a process use much memory`() throws {
        let (server, address) = try server()
        var clients: [RawClient] = []
        // The start of a long handshake message that never ends.
        let start: [UInt8] = [22, 3, 1, 0x40, 0, 1, 0, 0x3F, 0xFC, 3, 3]
        for _ in 0..<200 {
            let client = try RawClient(address)
            client.send(start + Array(repeating: 1, count: 16_000))
            clients.append(client)
        }
        for _ in 0..<300 {
            // Some connections are refused; the loop continues with the next.
            guard let hostilePeer = try? HostilePeer(address) else { continue }
            hostilePeer.send(Array(repeating: 65, count: 1 << 16))
        }
        let (code, _) = try ChildProcess.run(Self.program, ["send", address, "1"])
        #expect(code == 0)
        let output = server.remainingLines()
        #expect(value("received", in: output) == "\(1 << 20)")
        let grown = try #require(value("grown", in: output)?.split(separator: " ").first)
        print("memory during the flood: \(grown) KiB")
        #expect(try #require(Int(grown)) < 64 << 10)
        #expect(server.wait() == 0)
        withExtendedLifetime(clients) {}
    }

    @Test func `a stopped transport leaves no thread running and no descriptor open`() throws {
        let (code, lines) = try ChildProcess.run(Self.program, ["stops", "20"])
        #expect(code == 0)
        let before = try #require(value("before", in: lines))
        #expect(value("after", in: lines) == before)
    }
}
