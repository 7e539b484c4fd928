import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the anonymous files for data too large for memory.
@Suite struct SpillFileTests {
    private let volume = SimulatedVolume(seed: 15)
    private let engine: StoreEngine

    init() throws {
        engine = try StoreEngine(opening: volume, options: SmallStore.options(seed: 15))
    }

    @Test func `blocks are read in any order, and the file has no name`() throws {
        let before = try volume.names()
        let file = try SpillFile(in: engine)
        #expect(try volume.names() == before && file.blockCount == 0)
        var random = SeededRandom(seed: 15, "spilled blocks")
        var blocks: [[UInt8]] = []
        for length in [5, 0, 1, 4_000, 3, 700] {
            blocks.append(random.bytes(length))
            try file.append(blocks[blocks.count - 1])
            #expect(file.blockCount == blocks.count)
            for index in blocks.indices.reversed() {
                #expect(try file.block(index) == blocks[index], "block \(index)")
            }
        }
        #expect(try volume.names() == before)
    }

    @Test func `a changed block is reported with its offset, and others are intact`() throws {
        let file = try SpillFile(in: engine)
        for number in 1...3 as ClosedRange<UInt8> {
            try file.append([UInt8](repeating: number, count: 10 * Int(number)))
        }
        for (index, offset) in [(0, 0), (1, 10), (2, 30)] {
            volume.inject(SimulatedFault(.flipped, of: .read))
            let error = #expect(throws: StorageError.self) { try file.block(index) }
            guard case .corrupt(let damage) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(FileName(damage.file) == .temporary && damage.offset == offset)
            #expect(damage.reason == "the block's checksum does not match")
            volume.inject(SimulatedFault(.error(.inputOutput), of: .read))
            let name = damage.file
            #expect(throws: StorageError.io(VolumeError(.read, name, .inputOutput))) {
                try file.block(index)
            }
            #expect(try file.block(index).count == 10 * (index + 1))
        }
    }

    @Test func `a block that could not be written is none, and the next one takes its place`()
        throws
    {
        let file = try SpillFile(in: engine)
        try file.append([1, 2, 3])
        volume.inject(SimulatedFault(.error(.noSpace), of: .write))
        let error = #expect(throws: StorageError.self) { try file.append([4, 5, 6, 7]) }
        #expect(error?.isFull == true && file.blockCount == 1)
        try file.append([8, 9])
        #expect(file.blockCount == 2)
        #expect(try file.block(0) == [1, 2, 3])
        #expect(try file.block(1) == [8, 9])
    }

    @Test func `a file that cannot be created or made anonymous is an error`() throws {
        for operation in [VolumeError.Operation.create, .remove] {
            volume.inject(SimulatedFault(.error(.noSpace), of: operation))
            let error = #expect(throws: StorageError.self) { try SpillFile(in: engine) }
            #expect(error?.isFull == true, "\(operation)")
        }
        // The next opening removes the file whose name could not be removed.
        let left = try volume.names().filter { FileName($0) == .temporary }
        #expect(left.count == 1)
        try engine.close()
        try StoreEngine(opening: volume).close()
        #expect(try volume.names().filter { FileName($0) == .temporary } == [])
    }
}
