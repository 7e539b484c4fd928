import SheafStorage
import SheafTestSupport
import Testing

@Suite struct BTreeExportTests {
    /// Returns an in-memory file mapping of these bytes.
    private func mapping(_ bytes: [UInt8]) -> FileMapping {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(bytes.count, 1), alignment: 4096)
        buffer.copyBytes(from: bytes)
        nonisolated(unsafe) let memory = buffer
        guard let base = buffer.baseAddress else { preconditionFailure("The buffer is not empty.") }
        return FileMapping(base: base, count: bytes.count) { memory.deallocate() }
    }

    private func export(_ snapshot: BTreeSnapshot) -> [UInt8] {
        var file = [UInt8](repeating: 0, count: BTree.pageSize)
        snapshot.exportPages { page in file += Array(page) }
        return file
    }

    private func adopt(_ file: [UInt8], fanout: Int = BTree.maximumFanout) throws -> BTree {
        try BTree(
            adopting: mapping(file), pageCount: file.count / BTree.pageSize - 1, fanout: fanout)
    }

    @Test func `an exported tree is adopted unchanged and accepts changes`() throws {
        for (seed, kind) in KeyKind.allCases.enumerated() {
            for fanout in [3, BTree.maximumFanout] {
                var random = SeededRandom(seed: UInt64(seed), "export")
                var tree = BTree(fanout: fanout)
                var model = BTreeModel()
                for step in 0..<400 {
                    let key = kind.key(step, &random)
                    let value = randomValue(&random)
                    _ = (tree.put(key, value), model.put(key, value))
                    if random.chance(1, in: 3) {
                        let victim = model.keys[random.below(model.count)]
                        _ = (tree.remove(victim), model.remove(victim))
                    }
                }
                let file = export(tree.snapshot())
                var adopted = try adopt(file, fanout: fanout)
                #expect(adopted.checkInvariants() == [], "seed \(seed), \(kind)")
                let before = adopted.snapshot()
                #expect(before.holds(model))
                #expect(export(before) == file)
                let old = model
                for step in 400..<600 {
                    let key = kind.key(step, &random)
                    let value = randomValue(&random)
                    _ = (adopted.put(key, value), model.put(key, value))
                    let victim = model.keys[random.below(model.count)]
                    _ = (adopted.remove(victim), model.remove(victim))
                }
                #expect(adopted.checkInvariants() == [], "seed \(seed), \(kind)")
                #expect(adopted.snapshot().holds(model))
                #expect(before.holds(old))
                // Pages of the file are never written.
                #expect(export(before) == file)
                for key in model.keys { _ = adopted.remove(key) }
                #expect(adopted.count == 0)
                #expect(adopted.checkInvariants() == [])
            }
        }
    }

    @Test func `an empty tree is exported as one page`() throws {
        var tree = BTree()
        let file = export(tree.snapshot())
        #expect(file.count == 2 * BTree.pageSize)
        var adopted = try adopt(file)
        #expect(adopted.count == 0)
        #expect(adopted.put([1], .empty) == nil)
        #expect(adopted.checkInvariants() == [])
    }

    @Test func `bytes of removed entries are not exported`() {
        var tree = BTree(fanout: 8)
        let secret = [UInt8](repeating: 0xAB, count: 30)
        for number in 0..<200 { _ = tree.put([UInt8(number)] + secret, BTreeValue([0xAB, 0xAB])) }
        for number in 0..<200 {
            _ = tree.put([UInt8(number), 1, 2, 3, 4, 5, 6, 7, 8, 9], BTreeValue([1]))
            _ = tree.remove([UInt8(number)] + secret)
        }
        // A separator may keep the first byte of a removed key, but no further bytes.
        let file = export(tree.snapshot())
        let run = [0xAB, 0xAB] as [UInt8]
        #expect(!zip(file, file.dropFirst()).contains { $0 == run[0] && $1 == run[1] })
    }

    @Test func `missing or extra pages are refused`() {
        var tree = BTree(fanout: 3)
        for number in 0..<20 { _ = tree.put([UInt8(number)], .empty) }
        let file = export(tree.snapshot())
        let pages = file.count / BTree.pageSize - 1
        for count in [-1, 0, Int.max] {
            #expect(throws: BTreeDamage.pageCount(count)) {
                _ = try BTree(adopting: mapping(file), pageCount: count)
            }
        }
        for count in 1..<pages {
            #expect(throws: BTreeDamage.self) {
                _ = try BTree(adopting: mapping(file), pageCount: count)
            }
        }
        for count in stride(from: 0, to: file.count, by: 777) {
            #expect(throws: BTreeDamage.truncated) {
                _ = try BTree(adopting: mapping(Array(file[..<count])), pageCount: pages)
            }
        }
        #expect(throws: BTreeDamage.page(pages + 1)) {
            let longer = file + [UInt8](repeating: 0, count: BTree.pageSize)
            _ = try BTree(adopting: mapping(longer), pageCount: pages + 1)
        }
    }

    @Test func `the root of a file has a level below 32`() throws {
        let tree = try adopt(chain(levels: 31))
        #expect(tree.find([1]) == BTreeValue(7))
        #expect(tree.statistics.depth == 32)
        for levels in [32, 33] {
            #expect(throws: BTreeDamage.page(1)) { _ = try adopt(chain(levels: levels)) }
        }
    }

    /// Returns the file of a tree of one entry below inner pages with one child each.
    private func chain(levels: Int) -> [UInt8] {
        var tree = BTree()
        _ = tree.put([1], BTreeValue(7))
        let file = export(tree.snapshot())
        var chain = Array(file.prefix(BTree.pageSize))
        for number in 1...levels {
            var page = [UInt8](repeating: 0, count: BTree.pageSize)
            // The number of entries, the level, and the offset of the heap, which is empty.
            page[0] = 1
            page[2] = UInt8(levels + 1 - number)
            page[4] = UInt8(BTree.pageSize & 0xFF)
            page[5] = UInt8(BTree.pageSize >> 8)
            // The slot after the head: the offset of the record, the child, and its entries.
            page[88] = page[4]
            page[89] = page[5]
            page[92] = UInt8(number + 1)
            page[96] = 1
            chain += page
        }
        return chain + file.suffix(BTree.pageSize)
    }

    @Test func `an exported file with a changed byte is refused or yields a valid tree`() throws {
        for kind in [KeyKind.short, .sharedPrefix] {
            var random = SeededRandom(seed: 11, "flips")
            var tree = BTree(fanout: 4)
            for step in 0..<24 { _ = tree.put(kind.key(step, &random), randomValue(&random)) }
            let file = export(tree.snapshot())
            let mapping = mapping(file)
            var refused = 0
            var accepted = 0
            for offset in BTree.pageSize..<file.count where isInteresting(offset, file) {
                for flip in [1 << random.below(8), UInt8(1 + random.below(255))] {
                    // An adopted tree never writes to the mapping, so all cases share one.
                    let byte = mapping.base + offset
                    byte.storeBytes(of: file[offset] ^ flip, as: UInt8.self)
                    defer { byte.storeBytes(of: file[offset], as: UInt8.self) }
                    let pageCount = file.count / BTree.pageSize - 1
                    guard var adopted = try? BTree(adopting: mapping, pageCount: pageCount) else {
                        refused += 1
                        continue
                    }
                    accepted += 1
                    let violations = adopted.checkInvariants() + change(&adopted, kind, &random)
                    if !violations.isEmpty {
                        Issue.record("offset \(offset), flip \(flip): \(violations)")
                    }
                }
            }
            // Accepted changes are those that yield other valid keys or values.
            #expect(refused > 1000)
            #expect(accepted > 100)
        }
    }

    /// Whether the byte is used or near used bytes; most bytes of a page are unused.
    private func isInteresting(_ offset: Int, _ file: [UInt8]) -> Bool {
        let position = offset % BTree.pageSize
        return position < 200 || file[max(offset - 8, 0)..<offset].contains { $0 != 0 }
    }

    /// Changes and reads the tree, to reveal pages that are invalid but were accepted.
    private func change(
        _ tree: inout BTree, _ kind: KeyKind, _ random: inout SeededRandom
    ) -> [String] {
        for step in 0..<4 { _ = tree.put(kind.key(step, &random), randomValue(&random)) }
        var keys: [[UInt8]] = []
        tree.forEach { key, _ in
            keys.append(Array(key))
            return true
        }
        let lost = keys.prefix(20).filter { tree.remove($0) == nil }
        return tree.checkInvariants() + lost.map { "\($0) is lost" }
    }
}
