import SheafHubLogModel

/// Runs the probe of hub logs on an input of libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    if let breach = HubProbe.read(bytes) { fatalError(breach) }
    return 0
}
