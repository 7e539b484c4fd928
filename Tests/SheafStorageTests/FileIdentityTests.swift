import SheafStorage
import SheafTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// File identities, which distinguish a file from its copies, for given file attributes.
struct FileIdentityTests {
    private static let ext4: UInt32 = 0xEF53

    private func birth(
        inode: UInt64 = 7, birth: FileBirth.Moment = (1, 2), change: FileBirth.Moment = (3, 4),
        fileSystem: UInt64 = 5, type: UInt32 = FileBirth.btrfs
    ) -> FileBirth {
        var result = FileBirth(inode: inode, birth: birth, change: change)
        result.addFileSystem(fileSystem: fileSystem, ofType: type)
        return result
    }

    @Test func `a file in a snapshot of a Btrfs subvolume has another identity`() {
        #expect(birth().hash == birth().hash)
        #expect(birth(fileSystem: 6).hash != birth().hash)
        #expect(birth(fileSystem: 6).hashWithChange != birth().hashWithChange)
    }

    @Test func `a file keeps its identity if only the device number of its mount changes`() {
        let (before, after) = (birth(type: Self.ext4), birth(fileSystem: 6, type: Self.ext4))
        #expect(before.hash == after.hash && before.hashWithChange == after.hashWithChange)
    }

    @Test func `a copy differs in its inode number or its creation time`() {
        for type in [FileBirth.btrfs, Self.ext4] {
            let original = birth(type: type)
            #expect(birth(inode: 8, type: type).hash != original.hash)
            #expect(birth(birth: (2, 2), type: type).hash != original.hash)
            #expect(birth(birth: (1, 3), type: type).hash != original.hash)
        }
    }

    @Test func `a file keeps its identity in later versions of the program`() {
        // The log of a store has such a value; with another one, the store looks like a copy.
        let (plain, inSubvolume) = (birth(type: Self.ext4), birth())
        #expect(plain.hash == 0x3342_0FEB_774D_5969)
        #expect(plain.hashWithChange == 0x8B78_49FC_6614_64CB)
        #expect(inSubvolume.hash == 0x825B_F508_4D2D_A2E0)
        #expect(inSubvolume.hashWithChange == 0xE8AB_9AB7_306B_8F92)
    }

    @Test func `a change of the content changes exactly one of the two identities`() {
        let (before, after) = (birth(), birth(change: (3, 5)))
        #expect(before.hash == after.hash && before.hashWithChange != after.hashWithChange)
    }
}
