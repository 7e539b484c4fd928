import BenchHarness
import BenchStores
import Foundation

/// The controlling end of a `ShippingPeer`.
final class ShippingProcess {
    private let directory: String
    private let busyPollMicroseconds: Int
    private var process = Process()
    private var input = Pipe()
    private var output = Pipe()
    private var buffer = Data()
    /// The address on which the peer listens.
    private(set) var address = ""
    /// The peer key.
    private(set) var key = ""

    /// Starts a peer with a new store.
    init(_ stage: Stage, _ name: String, busyPollMicroseconds: Int = 0) throws {
        self.busyPollMicroseconds = busyPollMicroseconds
        directory = "\(stage.disk.path)/\(name).sheaf"
        try start()
    }

    /// Restarts the peer on the same store.
    func startAgain() throws {
        end()
        (process, input, output) = (Process(), Pipe(), Pipe())
        try start()
    }

    private func start() throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            ShippingPeer.argument, directory, "\(busyPollMicroseconds)",
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let words = try readLine().split(separator: " ").map(String.init)
        (address, key) = (words[0], words[1])
    }

    /// Sends a command and returns the response.
    @discardableResult
    func ask(_ line: String) throws -> String {
        send(line)
        return try readLine()
    }

    /// Sends a command without waiting for the response.
    func send(_ line: String) {
        input.fileHandleForWriting.write(Data((line + "\n").utf8))
    }

    /// Reads the next response.
    func readLine() throws -> String {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer = Data(buffer[(end + 1)...])
                guard !line.hasPrefix("!") else { throw StoreFailure(description: line) }
                return line
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else {
                throw StoreFailure(description: "a peer process ended early")
            }
            buffer.append(more)
        }
    }

    /// Sends a command and returns the numbers in the response.
    func numbers(_ line: String) throws -> [UInt64] {
        try ask(line).split(separator: " ").compactMap { UInt64($0) }
    }

    /// Inserts a document, and waits until the other peer has it and all earlier ones.
    ///
    /// The ID of the document contains `word`.
    func connect(_ other: ShippingProcess, _ word: String = "met") throws {
        try ask("insert-and-wait \(other.key) \(word)")
    }

    /// Returns the sum of bytes sent and received.
    func traffic() throws -> UInt64 { try numbers("traffic").reduce(0, +) }

    /// Ends the peer, which closes its store first.
    func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
