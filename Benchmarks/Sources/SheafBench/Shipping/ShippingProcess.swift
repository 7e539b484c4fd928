import BenchHarness
import Foundation

/// The other end of a `ShippingPeer`.
final class ShippingProcess {
    private let directory: String
    private var process = Process()
    private var input = Pipe()
    private var output = Pipe()
    private var buffer = Data()
    /// Where it listens, and by what others know it.
    private(set) var address = ""
    private(set) var key = ""

    /// Starts one with a store of its own.
    init(_ stage: Stage, _ name: String) throws {
        directory = "\(stage.disk.path)/\(name).sheaf"
        try start()
    }

    /// Ends it, and starts another one on the same store.
    func startAgain() throws {
        end()
        (process, input, output) = (Process(), Pipe(), Pipe())
        try start()
    }

    private func start() throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [ShippingPeer.argument, directory]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let words = try hear().split(separator: " ").map(String.init)
        (address, key) = (words[0], words[1])
    }

    /// Has something done, and waits for the answer.
    @discardableResult
    func ask(_ line: String) throws -> String {
        tell(line)
        return try hear()
    }

    /// Has something done; the answer is to be read later.
    func tell(_ line: String) {
        input.fileHandleForWriting.write(Data((line + "\n").utf8))
    }

    /// The next answer.
    func hear() throws -> String {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer = Data(buffer[(end + 1)...])
                guard !line.hasPrefix("!") else { throw StoreFailure(description: line) }
                return line
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else {
                throw StoreFailure(description: "a peer has ended before its time")
            }
            buffer.append(more)
        }
    }

    /// The numbers of an answer.
    func numbers(_ line: String) throws -> [UInt64] {
        try ask(line).split(separator: " ").compactMap { UInt64($0) }
    }

    /// Waits until two peers have all of each other.
    func meet(_ other: ShippingProcess, _ word: String = "met") throws {
        try ask("meet \(other.key) \(word)")
    }

    /// How many bytes it has sent and received.
    func traffic() throws -> UInt64 { try numbers("traffic").reduce(0, +) }

    /// Has it close its store, and end.
    func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
