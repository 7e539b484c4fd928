import SheafStorage
import Testing

@Suite struct VolumeErrorTests {
    @Test func `an error names the call, the file and the reason`() {
        let error = VolumeError(.write, "0000000001.log", .noSpace)
        #expect(error.description == "cannot write 0000000001.log: No space left on device")
    }
}
