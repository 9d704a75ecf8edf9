import Collector

/// The program `weir-collector`.
@main
enum WeirCollector {
    static func main() {
        CollectorProgram.start()
    }
}
