import SheafStorage
import SheafTestSupport
import Testing

/// Comparison of the simulated volume with a real directory.
@Suite struct SimulatedDifferenceTests {
    /// A call with random arguments.
    private enum Call {
        case open(String, FileAccess)
        case rename(String, to: String)
        case remove(String)
        case write([UInt8], at: Int, file: Int)
        case read(Int, at: Int, file: Int)
        case truncate(to: Int, file: Int)
        case map(Int, file: Int)
        case close(file: Int)
    }

    /// The result of a call.
    private enum CallResult: Equatable {
        case bytes([UInt8])
        case refused(VolumeError)
    }

    /// The observable state of a volume and its open files.
    private struct View: Equatable {
        var names: [String]
        var contents: [[UInt8]]
    }

    /// A volume and its open files.
    private struct Side {
        let volume: any Volume
        var files: [any VolumeFile] = []

        /// Performs a call; returns its result or its error.
        mutating func answer(_ call: Call) -> CallResult {
            do throws(VolumeError) {
                return .bytes(try perform(call))
            } catch {
                return .refused(error)
            }
        }

        private mutating func perform(_ call: Call) throws(VolumeError) -> [UInt8] {
            switch call {
            case .open(let name, let access): files.append(try volume.open(name, access))
            case .rename(let name, let newName): try volume.rename(name, to: newName)
            case .remove(let name): try volume.remove(name)
            case .write(let bytes, let offset, let file):
                try files[file].writeFully(bytes, at: offset)
            case .read(let count, let offset, let file):
                return try files[file].readFully(count, at: offset)
            case .truncate(let size, let file): try files[file].truncate(to: size)
            case .map(let length, let file):
                // Access to a mapping past the end of the file would raise a signal.
                let visible = try min(length, files[file].size())
                return try files[file].map(length: length, .copyOnWrite).array(visible)
            case .close(let file): files.remove(at: file).close()
            }
            return []
        }

        /// Reads all names and files.
        func view() throws(VolumeError) -> View {
            var view = View(names: try volume.names().sorted(), contents: [])
            for file in files { view.contents.append(try file.readAll(limit: 10_000)) }
            return view
        }
    }

    private func draw(_ random: inout SeededRandom, openFiles: Int) -> Call {
        let name = "\(random.below(6))"
        let offset = random.below(300)
        guard openFiles > 0, random.chance(3, in: 4) else {
            switch random.below(5) {
            case 0, 1: return .open(name, .create)
            case 2: return .open(name, .write)
            case 3: return .rename(name, to: "\(random.below(6))")
            default: return .remove(name)
            }
        }
        let file = random.below(openFiles)
        guard openFiles < 6 else { return .close(file: file) }
        switch random.below(8) {
        case 0...2: return .write(random.bytes(random.below(200)), at: offset, file: file)
        case 3, 4: return .read(random.below(200), at: offset, file: file)
        case 5: return .truncate(to: offset, file: file)
        case 6: return .map(offset, file: file)
        default: return .close(file: file)
        }
    }

    @Test func `random calls have the same results on a simulated and a real volume`() throws {
        let seed: UInt64 = 11
        var random = SeededRandom(seed: seed, "difference")
        let directory = TemporaryDirectory()
        var real = Side(volume: try PosixVolume(path: directory.path, creatingDirectory: false))
        var simulated = Side(volume: SimulatedVolume())
        for step in 0..<3_000 {
            let call = draw(&random, openFiles: simulated.files.count)
            let realAnswer = real.answer(call)
            let isAlike = realAnswer == simulated.answer(call)
            #expect(isAlike, "seed \(seed), step \(step): \(call) gave \(realAnswer)")
            let areViewsEqual = try real.view() == simulated.view()
            try #require(areViewsEqual, "seed \(seed), step \(step): \(call)")
        }
    }
}
