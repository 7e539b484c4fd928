import SheafMesh

/// What libFuzzer calls with each input; it keeps what reaches code that was not reached before.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    do {
        if let breach = try HostProbe.read(bytes) { fatalError(breach) }
    } catch {
        fatalError("a peer cannot go on: \(error)")
    }
    return 0
}
