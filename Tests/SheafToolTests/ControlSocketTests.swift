import Foundation
import SheafTestSupport
import Testing

/// The control socket of a running peer and clients other than the tool.
@Suite struct ControlSocketTests {
    @Test func `silent clients and invalid requests do not block other clients`() throws {
        let scene = PeerScene()
        let peer = try scene.serve("ann", "--listen", "127.0.0.1:0")
        _ = try peer.address()
        for nonsense in [
            "nonsense", "[1]", "{}", #"{"do":"dance"}"#, #"{"do":"execute"}"#, "\u{1}",
        ] {
            let client = try RawClient(scene.path("ann.peer"))
            client.send(nonsense + "\n")
            #expect(client.read().hasPrefix("!{\"code\":1,"), "\(nonsense)")
        }
        // One of the silent clients has sent half a request.
        let silent = try (0..<8).map { _ in try RawClient(scene.path("ann.peer")) }
        silent[0].send(#"{"do":"#)
        #expect(try peer.execute("SELECT * FROM system:dual").isEmpty == false)
        // These silent clients exceed the maximum number of served connections.
        let more = try (0..<20).map { _ in try RawClient(scene.path("ann.peer")) }
        #expect(try peer.stop() == 0)
        // On a loaded machine, the timeout may have ended the connection before.
        let answers = ["", #"!{"code":1,"message":"the peer is stopping"}"# + "\n"]
        for client in silent { #expect(answers.contains(client.read())) }
        withExtendedLifetime(more) {}
    }

    @Test func `a client whose request is not complete learns that the peer stops`() throws {
        let scene = PeerScene()
        let peer = try scene.serve("ann", "--listen", "127.0.0.1:0")
        _ = try peer.address()
        let client = try RawClient(scene.path("ann.peer"))
        client.send(#"{"do":"#)
        // Connections are accepted in order, so the peer serves this one after that of the client.
        #expect(try peer.execute("SELECT * FROM system:dual").isEmpty == false)
        #expect(try peer.stop() == 0)
        #expect(client.read() == #"!{"code":1,"message":"the peer is stopping"}"# + "\n")
    }

    @Test func `a stale socket is replaced, and a regular file is not`() throws {
        let scene = PeerScene()
        let first = try scene.serve("ann", "--listen", "127.0.0.1:0")
        _ = try first.address()
        #expect(try first.stop(SIGKILL) == -SIGKILL)
        #expect(FileManager.default.fileExists(atPath: scene.path("ann.peer")))
        let run = try ToolRun(["peer", "list", scene.path("ann")])
        #expect(run.status == 1 && run.errors.hasPrefix("sheaf: no peer is running on the store"))
        let second = try scene.serve("ann", "--listen", "127.0.0.1:0")
        _ = try second.address()
        #expect(try ToolRun(["peer", "list", scene.path("ann")]).status == 0)
        // A second peer on the store fails and leaves the socket of the first in place.
        let third = try scene.serve("ann", "--listen", "127.0.0.1:0")
        #expect(try third.end() == 1)
        #expect(try ToolRun(["peer", "list", scene.path("ann")]).status == 0)
        #expect(try second.stop() == 0)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: scene.path("ann.peer")))
        let fourth = try scene.serve("ann", "--listen", "127.0.0.1:0")
        #expect(try fourth.end() == 1)
        #expect(fourth.errorText.contains("ann.peer exists and is not a socket"))
        #expect(FileManager.default.contents(atPath: scene.path("ann.peer")) == Data("mine".utf8))
    }

    @Test func `a path that is too long for a socket is refused with that reason`() throws {
        let scene = PeerScene()
        let name = String(repeating: "s", count: 100)
        let peer = try scene.serve(name, "--listen", "127.0.0.1:0")
        #expect(try peer.end() == 1)
        #expect(peer.errorText.contains("use a store with a shorter path"))
    }
}

/// A control client that can send any text.
final class RawClient {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw MissingResponse() }
        // This is longer than the timeout of the peer.
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Reads until the peer closes the connection, or sends nothing for 60 s.
    func read() -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(descriptor, &piece, piece.count, 0)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece.prefix(count)
        }
    }

    struct MissingResponse: Error {}
}
