import SheafStorage

/// Damage to the bytes of a file at rest.
package enum SimulatedCorruption: Sendable {
    case flipBit(at: Int, bit: Int)
    case overwrite(at: Int, with: [UInt8])
    case zero(at: Int, count: Int)
    /// Swaps the blocks with these numbers.
    case swapBlocks(Int, Int, size: Int)
    case truncate(to: Int)
    case append([UInt8])
    /// Replaces block `to` by block `source` of a file, possibly the same file.
    case copyBlock(source: Int, of: String, to: Int, size: Int)
    /// Deletes the file, name and bytes.
    case delete
}

extension SimulatedVolume {
    /// Damages a file in memory and on the disk, without changing its other bytes.
    package func corrupt(_ name: String, _ corruption: SimulatedCorruption) {
        inspect { disk in
            guard let inode = disk.directory.inode(name) else {
                preconditionFailure("No such file to damage: \(name)")
            }
            switch corruption {
            case .delete:
                disk.deleteEverywhere(name, inode)
            case .truncate(let size):
                disk.inodes[inode].corrupt({ $0.resize(to: min(size, $0.size)) }, capacity: 0)
            case .append(let bytes):
                let end = disk.inodes[inode].current.size + bytes.count
                disk.inodes[inode].corrupt({ $0.overwrite(bytes, at: $0.size) }, capacity: end)
            case .flipBit(let offset, let bit):
                disk.inodes[inode].corrupt(
                    { content in
                        guard offset < content.size else { return }
                        content.overwrite([content.byte(at: offset) ^ (1 << bit)], at: offset)
                    }, capacity: 0)
            case .overwrite(let offset, let bytes):
                disk.inodes[inode].corrupt({ $0.overwriteInside(bytes, at: offset) }, capacity: 0)
            case .zero(let offset, let count):
                let zeros = [UInt8](repeating: 0, count: count)
                disk.inodes[inode].corrupt({ $0.overwriteInside(zeros, at: offset) }, capacity: 0)
            case .swapBlocks(let first, let second, let size):
                disk.inodes[inode].corrupt(
                    { content in
                        let one = content.block(first, size: size)
                        let other = content.block(second, size: size)
                        content.overwriteInside(other, at: first * size)
                        content.overwriteInside(one, at: second * size)
                    }, capacity: 0)
            case .copyBlock(let source, let sourceName, let target, let size):
                guard let other = disk.directory.inode(sourceName) else {
                    preconditionFailure("No such file to copy from: \(sourceName)")
                }
                let block = disk.inodes[other].current.block(source, size: size)
                disk.inodes[inode].corrupt(
                    { $0.overwriteInside(block, at: target * size) }, capacity: 0)
            }
        }
    }
}

extension SimulatedDisk {
    fileprivate mutating func deleteEverywhere(_ name: String, _ inode: Int) {
        directory.forget(inode)
        inodes[inode].isNamed = false
        reclaim(inode)
    }
}

extension SimulatedContent {
    fileprivate func byte(at offset: Int) -> UInt8 {
        bytes.base.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// Returns the bytes of a block, clamped to the size of the content.
    fileprivate func block(_ number: Int, size blockSize: Int) -> [UInt8] {
        let start = min(number * blockSize, size)
        let end = min(start + blockSize, size)
        return [UInt8](UnsafeRawBufferPointer(start: bytes.base + start, count: end - start))
    }

    fileprivate mutating func overwrite(_ array: [UInt8], at offset: Int) {
        array.withUnsafeBytes { put($0, at: offset) }
    }

    fileprivate mutating func overwriteInside(_ array: [UInt8], at offset: Int) {
        guard offset < size else { return }
        overwrite(Array(array.prefix(size - offset)), at: offset)
    }
}
