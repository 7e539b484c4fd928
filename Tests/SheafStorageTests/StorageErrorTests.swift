import SheafStorage
import SheafTestSupport
import Testing

@Suite struct StorageErrorTests {
    @Test func `a full disk is reported with advice and as the cause of later errors`() throws {
        let volume = SimulatedVolume()
        let engine = try StoreEngine(opening: volume)
        volume.quota = 0
        var errors: [String] = []
        for _ in 0..<2 {
            var batch = WriteBatch()
            try batch.put([1], [2])
            do throws(StorageError) {
                _ = try engine.append(batch)
                try engine.flush()
            } catch {
                errors.append(error.description)
            }
        }
        let first = try #require(errors.first)
        #expect(first.hasPrefix("the disk is full: cannot "))
        #expect(first.hasSuffix("; make room, then open the store again"))
        #expect(
            errors.last
                == "the store accepts no more writes until it is opened again, since: \(first)")
    }

    @Test func `errors about limits name the limit and the value, or give advice`() {
        let limits: [StorageError] = [
            .limit(
                name: "maximumBaseFileLength", value: Limits.maximumBaseFileLength + 1,
                limit: Limits.maximumBaseFileLength), .commitsExhausted,
        ]
        #expect(
            limits.map(\.description) == [
                "2147483648 is more than maximumBaseFileLength allows, which is 2147483647",
                "the store has used all commit IDs; copy its documents into a new store",
            ])
    }

    @Test func `errors quote at most 200 scalars of long paths, names and keys`() {
        let long = LongInput.text
        let refusal = VolumeError(.open, long, .noSuchFile)
        let damage = StorageError.Damage(file: long, offset: 1, reason: "wrong")
        let errors: [any Error] = [
            refusal, StorageError.io(refusal), StorageError.full(refusal),
            StorageError.corrupt(damage), StorageError.unsupported(damage),
            StorageError.locked(path: long, holder: 1), StorageError.notAStore(path: long),
            StorageError.notEmpty(path: long),
            StorageError.poisoned(cause: StorageError.io(refusal).description),
            StorageError.noRecordForDelta(key: Array(long.utf8)),
        ]
        for error in errors {
            // Keys are quoted with escapes.
            let text = "\(error)".replacing("\\u{0301}", with: "\u{301}")
            #expect(LongInput.problem(in: text) == nil)
        }
    }
}
