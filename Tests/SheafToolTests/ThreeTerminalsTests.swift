import Foundation
import SheafTestSupport
import Testing

/// The commands of the page ThreeTerminals, in its order.
struct ThreeTerminalsTests {
    private let scene = PeerScene()

    /// Returns the commands of each block of the page.
    private func blocks() throws -> [String] {
        let page = "Sources/SheafNetwork/SheafNetwork.docc/ThreeTerminals.md"
        return try ProjectFile.text(page).components(separatedBy: "```sh\n").dropFirst().map {
            $0.components(separatedBy: "\n```")[0]
        }
    }

    /// Returns a script that runs commands in the directory of the scene, with the tool as `sheaf`.
    private func script(_ commands: String) -> String {
        "cd '\(scene.directory.path)'; set -e; sheaf() { \"$0\" \"$@\"; }\n\(commands)"
    }

    private func run(_ commands: String, status: Int32 = 0) throws -> ToolRun {
        let run = try ToolRun(script: script(commands))
        #expect(run.status == status, "\(commands)\n\(run.text)\n\(run.errors)")
        return run
    }

    /// Starts the peer of a block, on a free port or connected to `address`.
    private func start(_ command: String, _ address: String) throws -> RunningPeer {
        let line = command.replacing(/127\.0\.0\.1:\d+/, with: address)
        // The shell expands the words of the command, as it does for a reader of the page.
        let words = try run("sheaf() { printf '%s\\n' \"$@\"; }\n\(line)").lines
        let options = words.dropFirst(3).map { word in
            let path = scene.path(word)
            return FileManager.default.fileExists(atPath: path) ? path : word
        }
        return try RunningPeer(words[1], store: scene.path(words[2]), options)
    }

    @Test func `the commands of the page run`() throws {
        let blocks = try blocks()
        try #require(blocks.count == 9)
        _ = try run(blocks[0])
        let ann = try start(blocks[1], "127.0.0.1:0")
        let ben = try start(blocks[2], try ann.address())
        _ = try ben.line("connected ")
        let read = try run(blocks[3])
        #expect(read.lines.last == #"{"_id":"a","color":"blue"}"#)
        for peer in [ann, ben] { #expect(try peer.stop() == 0) }

        _ = try run(blocks[4])
        let register = try start(blocks[5], "127.0.0.1:0")
        let guest = try start(blocks[6], try register.address())
        _ = try guest.line("connected ")
        let written = try run(blocks[7])
        #expect(written.lines.contains(#"{"_id":"a","color":"blue"}"#))
        #expect(!written.text.contains(#""red""#))
        let reason = "permitted: no, the peer's grant does not permit reading it"
        #expect(written.lines.contains(reason))
        let refused = try run(blocks[8], status: 1)
        #expect(refused.errors.contains("the grant of this peer does not permit the write"))
        for peer in [register, guest] { #expect(try peer.stop() == 0) }
    }
}
