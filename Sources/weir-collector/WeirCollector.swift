import Collector

@main
enum WeirCollector {
    static func main() {
        CollectorProgram.start()
    }
}
