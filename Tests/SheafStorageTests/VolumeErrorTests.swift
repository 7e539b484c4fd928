import SheafStorage
import Testing

@Suite struct VolumeErrorTests {
    @Test func `an error contains the call, the file and the reason`() {
        let error = VolumeError(.write, "0000000001.log", .noSpace)
        #expect(error.description == "cannot write 0000000001.log: No space left on device")
    }

    @Test func `an error code of Sheaf has its own text`() {
        let error = VolumeError(.open, "0000000002.log", .notARegularFile)
        #expect(error.description == "cannot open 0000000002.log: it is not a regular file")
    }
}
