import SheafBytes
import Synchronization

/// An anonymous file for data too large for memory; it is deleted when the last reference is gone.
package final class SpillFile: Sendable {
    private struct Block {
        let offset: Int
        let length: Int
        let checksum: UInt64
    }

    private let file: any VolumeFile
    private let blocks = Mutex<[Block]>([])

    /// Creates a spill file in the directory of a store.
    package init(in store: StoreEngine) throws(StorageError) {
        let volume = store.volume
        let name = FileName.temporaryName(store.options.random())
        file = try translatingErrors { () throws(VolumeError) in
            let file = try volume.open(name, .create)
            do throws(VolumeError) { try volume.remove(name) } catch {
                file.close()
                throw error
            }
            return file
        }
    }

    deinit {
        file.close()
    }

    package var blockCount: Int { blocks.withLock { $0.count } }

    /// Appends a block; its checksum is kept in memory.
    package func append(_ bytes: [UInt8]) throws(StorageError) {
        let offset = blocks.withLock { $0.last.map { $0.offset + $0.length } ?? 0 }
        let checksum = try bytes.span.withUnsafeBytes { (bytes) throws(StorageError) in
            try translatingErrors { () throws(VolumeError) in
                try file.writeFully(bytes, at: offset)
            }
            return XXH3.hash64(bytes)
        }
        blocks.withLock {
            $0.append(Block(offset: offset, length: bytes.count, checksum: checksum))
        }
    }

    /// Returns a block after verifying its checksum.
    package func block(_ index: Int) throws(StorageError) -> [UInt8] {
        let block = blocks.withLock { $0[index] }
        var bytes = [UInt8](repeating: 0, count: block.length)
        var failure: VolumeError?
        bytes.withUnsafeMutableBytes { buffer in
            do throws(VolumeError) {
                try file.readFully(into: buffer, at: block.offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw StorageError(failure) }
        guard bytes.span.withUnsafeBytes({ XXH3.hash64($0) }) == block.checksum else {
            throw .damaged(
                file.name, at: block.offset,
                "the block's checksum does not match")
        }
        return bytes
    }
}
