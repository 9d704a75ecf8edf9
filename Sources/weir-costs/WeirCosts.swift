import Engine
import Streams

@main
enum WeirCosts {
    static func main() {
        StreamWorker<CostsFold>.start()
    }
}
