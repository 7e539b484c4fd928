import Sheaf
import SheafStorage
import SheafSystem
import SheafTestSupport

extension NetworkCommand {
    /// Sends a file through a relaying peer and prints its time and memory use.
    static func passFile(megabytes: Int) async throws {
        let directory = TemporaryDirectory()
        try write(megabytes, to: "file", in: directory)
        let network = MemoryNetwork(connectsAll: false)
        var peers: [Peer] = []
        for number in 0..<3 {
            let key = PeerKey.random()
            let peer = try await Peer.open(
                at: directory.path("store\(number)"),
                configuration: PeerConfiguration(
                    databaseID: "files", key: key, transports: [network.transport(for: key)]))
            try peer.sync.start()
            peers.append(peer)
        }
        let attachment = try await peers[0].store.newAttachment(path: directory.path("file"))
        let before = ProcessMemory.kibibytes("VmRSS")
        let start = Clock.system.monotonicNanoseconds()
        network.connect(peers[0].key, peers[1].key)
        network.connect(peers[1].key, peers[2].key)
        for await event in try peers[2].fetchAttachment(attachment.token) {
            if case .failed(let error) = event { throw error }
        }
        let milliseconds = (Clock.system.monotonicNanoseconds() - start) / 1_000_000
        print("passed \(attachment.length) bytes in \(milliseconds) ms")
        print("grown \(ProcessMemory.kibibytes("VmHWM") - before) KiB")
        for peer in peers { try await peer.close() }
    }

    private static func write(
        _ megabytes: Int, to name: String, in directory: TemporaryDirectory
    ) throws {
        let volume = try PosixVolume(path: directory.path, creatingDirectory: false)
        let file = try volume.open(name, .create)
        defer { file.close() }
        for number in 0..<megabytes {
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1 << 20)
            try bytes.span.withUnsafeBytes { try file.writeFully($0, at: number << 20) }
        }
    }
}
