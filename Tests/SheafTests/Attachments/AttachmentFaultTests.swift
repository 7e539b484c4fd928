import Sheaf
import SheafAttachments
import SheafStorage
import SheafTestSupport
import Testing

/// Attachment files after failed calls, on a full disk, and after a power cut.
@Suite struct AttachmentFaultTests {
    private let sample = SampleFile.all[4]
    private let other = SampleFile.all[2]

    /// Adds a file, and fetches another one.
    private func work(_ store: AttachmentStore) throws {
        _ = try store.add(other.bytes)
        // The result is nil if the complete file is stored.
        guard let incoming = try store.begin(sample) else { return }
        for chunk in 0..<sample.list.count where !incoming.contains(chunk) {
            try incoming.put(sample.chunk(chunk), at: chunk)
        }
    }

    /// Returns the number of calls of one kind that `work` makes.
    private func count(_ counted: (SimulatedCounters) -> Int) throws -> Int {
        let volume = SimulatedVolume()
        try work(AttachmentStore(volume) { $0.chunksPerSync = 1 })
        return counted(volume.counters)
    }

    @Test func `a power cut at any call keeps reported files and leaves no wrong bytes`() throws {
        let calls = try count(\.mutating)
        #expect(calls > 15)
        for call in 1...calls {
            let volume = SimulatedVolume(seed: UInt64(call))
            volume.crashAtCall(call)
            let store = AttachmentStore(volume) { $0.chunksPerSync = 1 }
            try? work(store)
            #expect(volume.isPowerCut)
            for cut in UInt64(0)..<4 {
                let comment: Comment = "call \(call), cut \(cut)"
                let kept = volume.powerCut(seed: cut)
                let later = AttachmentStore(kept) { $0.chunksPerSync = 1 }
                // Files that `has` reported before the cut are complete after it.
                for file in [other, sample]
                where (try? store.has(file.id)) == true {
                    #expect(try later.has(file.id), comment)
                }
                for id in try later.ids where try later.has(id) {
                    let expected = id == sample.id ? sample.bytes : other.bytes
                    #expect(try later.bytes(of: id) == expected, comment)
                }
                if let incoming = try later.incoming(sample.id) {
                    for chunk in 0..<sample.list.count where incoming.contains(chunk) {
                        #expect(try incoming.read(chunk) == sample.chunk(chunk), comment)
                    }
                }
                #expect(!kept.snapshotFiles().keys.contains { $0.hasSuffix(".tmp") }, comment)
                // The work succeeds on all files that the cut left.
                if try !later.has(sample.id) { try work(later) }
                #expect(try later.bytes(of: sample.id) == sample.bytes, comment)
                #expect(try later.ids.count <= 2, comment)
            }
        }
    }

    @Test(arguments: [VolumeError.Code.inputOutput, .noSpace])
    func `a failed call leaves no wrong bytes, and can be repeated`(
        _ code: VolumeError.Code
    ) throws {
        let calls = try count(\.total)
        for call in 1...calls {
            let volume = SimulatedVolume(seed: UInt64(call))
            let store = AttachmentStore(volume) { $0.chunksPerSync = 1 }
            volume.inject(SimulatedFault(.error(code), atCall: call))
            var failure: AttachmentError?
            do { try work(store) } catch let error as AttachmentError { failure = error }
            if let failure {
                guard case .volume(let error) = failure else {
                    Issue.record("call \(call): \(failure)")
                    continue
                }
                #expect(error.code == code)
                #expect(failure.description.contains("the disk is full") == (code == .noSpace))
            }
            volume.removeFaults()
            for id in try store.ids where try store.has(id) {
                let expected = id == sample.id ? sample.bytes : other.bytes
                #expect(try store.bytes(of: id) == expected, "call \(call)")
            }
            if try !store.has(sample.id) { try work(store) }
            if try !store.has(other.id) { _ = try store.add(other.bytes) }
            let kept = volume.powerCut(seed: UInt64(4 * call))
            for later in [store, AttachmentStore(kept)] {
                #expect(try later.bytes(of: sample.id) == sample.bytes, "call \(call)")
                #expect(try later.bytes(of: other.id) == other.bytes, "call \(call)")
            }
        }
    }

    @Test func `short reads and writes do not change the result`() throws {
        for operation in [VolumeError.Operation.read, .write] {
            let volume = SimulatedVolume(seed: 3)
            volume.inject(SimulatedFault(.short, of: operation, forEver: true))
            let store = AttachmentStore(volume)
            _ = try store.add(other.bytes)
            #expect(try store.bytes(of: other.id) == other.bytes)
        }
    }

    @Test func `a full disk refuses new files and keeps the stored ones`() throws {
        let volume = SimulatedVolume()
        let store = AttachmentStore(volume) { $0.chunksPerSync = 1 }
        _ = try store.add(other.bytes)
        volume.quota = 20_000
        let error = #expect(throws: AttachmentError.self) { try store.begin(sample) }
        #expect(error?.description.hasPrefix("the disk is full: cannot ") == true)
        #expect(throws: AttachmentError.self) { try store.add(sample.bytes) }
        #expect(volume.snapshotFiles().keys.sorted() == ["\(other.id).whole"])
        volume.quota = nil
        try work(store)
        #expect(try store.bytes(of: sample.id) == sample.bytes)
    }
}
