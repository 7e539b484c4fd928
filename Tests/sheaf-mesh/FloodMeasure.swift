import SheafMesh
import SheafStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// How much memory a peer takes that is told as much as it lets itself be told.
enum FloodMeasure {
    /// No stranger may take more.
    private static let most = 64 << 10
    private static let frames = 120

    static func run(
        _ flood: StrangerMemory.Flood, in directory: String, _ say: (String) -> Void
    ) -> Int32 {
        do {
            // What everybody has is not counted.
            _ = try StrangerMemory.run(flood, in: MemoryVolume(), frames: 1)
            let before = memoryKiB("VmRSS")
            forgetPeak()
            let volume = try PosixVolume(path: directory, creatingDirectory: true)
            let end = try StrangerMemory.run(flood, in: volume, frames: frames)
            let grown = memoryKiB("VmHWM") - before
            say("\(flood.rawValue): \(grown >> 10) MiB, \(end ?? "not ended")")
            return grown <= most ? 0 : 1
        } catch {
            say("\(flood.rawValue): \(error)")
            return 1
        }
    }

    private static func forgetPeak() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }

    private static func memoryKiB(_ name: String) -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var letters = [UInt8](repeating: 0, count: 8_192)
        let count = fread(&letters, 1, letters.count, file)
        let text = String(decoding: letters[..<count], as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return Int(line?.split(whereSeparator: { !$0.isNumber }).first ?? "") ?? 0
    }
}
