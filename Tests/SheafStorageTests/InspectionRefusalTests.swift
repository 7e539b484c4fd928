import SheafStorage
import SheafTestSupport
import Testing

/// Files that cannot be opened for lack of permission, or because of disk errors.
@Suite struct InspectionRefusalTests {
    private let seed: UInt64 = 31

    /// Returns a small store that refuses to open one file.
    private func store(
        refusing name: String, _ code: VolumeError.Code
    ) throws -> SimulatedVolume {
        let volume = SimulatedVolume(files: try SmallStore.small(seed: seed).files)
        volume.inject(
            SimulatedFault(.error(code), of: .open, onFilesEndingIn: name, forEver: true))
        return volume
    }

    @Test func `a file that the process may not open is not reported as damaged`() throws {
        // The name of a closed mark is sufficient; the file is never opened.
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

    @Test func `a store without any permitted file is still recognized as a store`() throws {
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

    @Test func `a file that the disk fails to open is reported as damaged`() throws {
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
