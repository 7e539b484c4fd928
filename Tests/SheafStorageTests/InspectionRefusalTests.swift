import SheafStorage
import SheafTestSupport
import Testing

/// Files that cannot be opened: because of who asks, or because of what is there.
@Suite struct InspectionRefusalTests {
    private let seed: UInt64 = 31

    /// A small store of which one file is refused for ever.
    private func store(
        refusing name: String, _ code: VolumeError.Code
    ) throws -> SimulatedVolume {
        let volume = SimulatedVolume(files: try SmallStore.small(seed: seed).files)
        volume.inject(
            SimulatedFault(.error(code), of: .open, onFilesEndingIn: name, forEver: true))
        return volume
    }

    @Test func `a file that this process may not open is not called damaged`() throws {
        // Of the mark that closing leaves the name says everything: nobody opens it.
        let names = try SmallStore.small(seed: seed).files.keys.filter { !$0.hasSuffix(".closed") }
        for name in names {
            for code in [VolumeError.Code.permissionDenied, .tooManyFiles] {
                let volume = try store(refusing: name, code)
                let expected = StorageError.io(VolumeError(.open, name, code))
                #expect(throws: expected) { try Verifier.verify(volume) }
                let target = SimulatedVolume()
                #expect(throws: expected) { try Salvager.salvage(volume, into: target) }
                #expect(target.snapshotFiles().isEmpty)
            }
        }
    }

    @Test func `a store of which this process may open nothing is still a store`() throws {
        let volume = try store(refusing: "", .permissionDenied)
        let code = VolumeError.Code.permissionDenied
        for attempt in [
            { _ = try Verifier.verify(volume) },
            { _ = try Salvager.salvage(volume, into: SimulatedVolume()) },
        ] as [() throws -> Void] {
            #expect {
                try attempt()
            } throws: { error in
                guard case .io(let refusal) = error as? StorageError else { return false }
                return refusal.operation == .open && refusal.code == code
            }
        }
    }

    @Test func `a file that the disk does not open is damage`() throws {
        for name in try SmallStore.small(seed: seed).files.keys where name.hasSuffix(".log") {
            let volume = try store(refusing: name, .inputOutput)
            let result = try Verifier.verify(volume)
            #expect(result.isDamaged)
            #expect(result.findings.contains { $0.file == name && $0.severity == .damage })
            _ = try Salvager.salvage(volume, into: SimulatedVolume())
        }
        let volume = try store(refusing: "", .inputOutput)
        #expect {
            try Salvager.salvage(volume, into: SimulatedVolume())
        } throws: { error in
            guard case .corrupt = error as? StorageError else { return false }
            return true
        }
    }
}
