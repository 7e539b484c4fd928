/// The unsynchronized changes that a power cut preserves.
enum PowerCutMode: Int {
    case nothing, everything, anything, anythingInOrder
}

/// A simulated file without its name.
///
/// ```
/// write ──> memory (what processes see) ──> pending ──synchronize──> durable
///                                              └────── power cut: any part of it ──> image
/// ```
struct SimulatedInode: Sendable {
    /// A change that may or may not be durable.
    package enum Change: Sendable {
        /// `count` bytes of `pendingBytes` starting at `start`.
        case write(offset: Int, start: Int, count: Int)
        case resize(to: Int)
    }

    private(set) var durable: SimulatedContent
    /// The content that processes see; nil while it equals the durable content.
    private(set) var memory: SimulatedContent?
    /// Memory that the file has outgrown but mappings may still show.
    private var outgrown: [SimulatedBytes] = []
    private var pending: [Change] = []
    private var pendingBytes: [UInt8] = []
    /// Whether pages were lost that memory still shows.
    private var isDivergent = false
    var openCount = 0
    var isNamed = true
    /// The identity of the file.
    var birth: UInt64
    /// The number of changes, used instead of a modification time.
    private(set) var changeCount = 0

    /// Creates a file with durable content.
    init(
        _ durable: SimulatedContent = SimulatedContent(), birth: UInt64 = 0, changeCount: Int = 0
    ) {
        self.durable = durable
        self.birth = birth
        self.changeCount = changeCount
    }

    /// Whether all changes are durable.
    var isSettled: Bool { pending.isEmpty }

    /// The content that processes see.
    var current: SimulatedContent { memory ?? durable }

    /// Writes to memory; the change stays pending.
    mutating func write(_ source: UnsafeRawBufferPointer, at offset: Int) {
        guard let start = source.baseAddress, !source.isEmpty else { return }
        changeCount += 1
        reserveMemory(offset + source.count)
        memory?.put(source, at: offset)
        for old in outgrown where offset < old.capacity {
            let count = min(source.count, old.capacity - offset)
            (old.base + offset).copyMemory(from: start, byteCount: count)
        }
        pending.append(
            .write(offset: offset, start: pendingBytes.count, count: source.count))
        pendingBytes.append(contentsOf: source)
    }

    /// Changes the size in memory; the change stays pending.
    mutating func resize(to size: Int) {
        let old = current.size
        changeCount += 1
        reserveMemory(size)
        memory?.resize(to: size)
        for bytes in outgrown where size < min(old, bytes.capacity) {
            let end = min(old, bytes.capacity)
            (bytes.base + size).initializeMemory(as: UInt8.self, repeating: 0, count: end - size)
        }
        pending.append(.resize(to: size))
    }

    /// Applies all pending changes to the durable content.
    mutating func synchronize() {
        guard !pending.isEmpty else { return }
        durable.reserveUniquely(requiredCapacity)
        for change in pending { apply(change, to: &durable) }
        forgetPending()
    }

    /// Simulates a failed sync: some pages are lost but stay visible and clean; sizes stay pending.
    mutating func loseChanges(_ random: inout SeededRandom) {
        let losesAll = random.chance(1, in: 2)
        let capacity = requiredCapacity
        var sizes: [Change] = []
        for change in pending {
            switch change {
            case .resize:
                sizes.append(change)
            case .write(let offset, _, let count):
                sizes.append(.resize(to: max(offset + count, sizeAfter(sizes))))
                if losesAll || random.chance(3, in: 4) {
                    isDivergent = true
                } else {
                    // This page became durable before the sync failed.
                    durable.reserveUniquely(capacity)
                    apply(change, to: &durable)
                }
            }
        }
        forgetPending()
        pending = sizes
    }

    /// Returns the memory shared by mappings of `length` bytes; later writes update it.
    mutating func mappedBytes(length: Int) -> SimulatedBytes {
        reserveMemory(length)
        return current.bytes
    }

    /// Returns the file as a new process finds it after a process crash without a power cut.
    func afterProcessDeath() -> SimulatedInode {
        var copy = self
        copy.openCount = 0
        copy.outgrown = []
        copy.memory =
            pending.isEmpty && !isDivergent
            ? nil : memory.map { SimulatedContent(copying: $0, capacity: $0.size) }
        return copy
    }

    /// Corrupts the bytes silently, in memory and on the disk.
    mutating func corrupt(_ body: (inout SimulatedContent) -> Void, capacity: Int) {
        durable.reserveUniquely(max(capacity, durable.size))
        body(&durable)
        guard memory != nil else { return }
        reserveMemory(capacity)
        if var changed = memory {
            memory = nil
            body(&changed)
            memory = changed
        }
    }

    private mutating func reserveMemory(_ capacity: Int) {
        guard var old = memory else {
            memory = SimulatedContent(copying: durable, capacity: capacity)
            return
        }
        guard old.bytes.capacity < capacity else { return }
        memory = SimulatedContent(
            copying: old, capacity: max(capacity, 2 * old.bytes.capacity))
        if !old.isUniquelyReferenced() { outgrown.append(old.bytes) }
    }

    private mutating func forgetPending() {
        pending.removeAll(keepingCapacity: true)
        pendingBytes.removeAll(keepingCapacity: true)
    }
}

extension SimulatedInode {
    /// Returns one possible state of the file after a power cut.
    func afterPowerCut(_ mode: PowerCutMode, _ random: inout SeededRandom) -> SimulatedInode {
        guard !pending.isEmpty, mode != .nothing else {
            return SimulatedInode(durable, birth: birth, changeCount: changeCount)
        }
        var image = SimulatedContent(copying: durable, capacity: requiredCapacity)
        for change in pending {
            guard mode != .everything else {
                apply(change, to: &image)
                continue
            }
            switch change {
            case .resize:
                if random.chance(1, in: 2) { apply(change, to: &image) }
            case .write(let offset, let start, let count):
                pendingBytes.withUnsafeBytes { all in
                    let bytes = UnsafeRawBufferPointer(rebasing: all[start..<start + count])
                    Self.applyPart(of: bytes, at: offset, to: &image, &random)
                }
            }
        }
        return SimulatedInode(image, birth: birth, changeCount: changeCount)
    }

    private static func applyPart(
        of bytes: UnsafeRawBufferPointer, at offset: Int, to image: inout SimulatedContent,
        _ random: inout SeededRandom
    ) {
        let end = offset + bytes.count
        let fate = random.below(16)
        switch fate {
        case 0..<5:
            image.put(bytes, at: offset)
        case 5 where end > image.size:
            // The data became durable but the size did not: bytes past the old end are lost.
            image.put(
                UnsafeRawBufferPointer(rebasing: bytes[..<max(0, image.size - offset)]), at: offset)
        case 5..<9:
            if random.chance(1, in: 4) { extend(&image, to: end, &random) }
        case 9..<12:
            if random.chance(1, in: 2) { extend(&image, to: end, &random) }
            applySectors(of: bytes, at: offset, sectorSize: 512, to: &image, &random)
        case 12..<14:
            if random.chance(1, in: 2) { extend(&image, to: end, &random) }
            applySectors(of: bytes, at: offset, sectorSize: 4_096, to: &image, &random)
        default:
            if random.chance(1, in: 2) { extend(&image, to: end, &random) }
            let cut = random.below(bytes.count + 1)
            image.put(UnsafeRawBufferPointer(rebasing: bytes[..<cut]), at: offset)
        }
    }

    private static func applySectors(
        of bytes: UnsafeRawBufferPointer, at offset: Int, sectorSize: Int,
        to image: inout SimulatedContent, _ random: inout SeededRandom
    ) {
        var position = 0
        while position < bytes.count {
            let sectorEnd = ((offset + position) / sectorSize + 1) * sectorSize
            let next = min(bytes.count, sectorEnd - offset)
            if random.next() & 1 == 0 {
                image.put(
                    UnsafeRawBufferPointer(rebasing: bytes[position..<next]),
                    at: offset + position)
            }
            position = next
        }
    }

    /// Extends the image to `end` without the data, with zeros or garbage.
    private static func extend(
        _ image: inout SimulatedContent, to end: Int, _ random: inout SeededRandom
    ) {
        guard end > image.size else { return }
        if random.chance(1, in: 2) {
            image.resize(to: end)
        } else {
            image.extendWithGarbage(to: end, &random)
        }
    }

    /// The capacity required to apply all pending changes.
    private var requiredCapacity: Int {
        pending.reduce(durable.size) { capacity, change in
            switch change {
            case .write(let offset, _, let count): max(capacity, offset + count)
            case .resize(let size): max(capacity, size)
            }
        }
    }

    private func apply(_ change: Change, to content: inout SimulatedContent) {
        switch change {
        case .resize(let size):
            content.resize(to: size)
        case .write(let offset, let start, let count):
            pendingBytes.withUnsafeBytes { all in
                content.put(
                    UnsafeRawBufferPointer(rebasing: all[start..<start + count]), at: offset)
            }
        }
    }

    private func sizeAfter(_ sizes: [Change]) -> Int {
        guard case .resize(let size) = sizes.last else { return durable.size }
        return size
    }
}
