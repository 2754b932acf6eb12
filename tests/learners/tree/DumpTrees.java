import java.io.BufferedReader;
import java.io.FileReader;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import weka.classifiers.trees.J48;
import weka.classifiers.trees.j48.C45Split;
import weka.classifiers.trees.j48.ClassifierTree;
import weka.classifiers.trees.j48.Distribution;
import weka.core.Attribute;
import weka.core.DenseInstance;
import weka.core.Instances;

/**
 * Fits J48 to each of the last columns of ARFF files in turn and writes every tree.
 *
 * <p>The argument is a file of jobs, one a line: ARFF file, output, number of targets, repeats, then
 * options of J48, with tabs between. A target's output is "T" with the least processor seconds of the
 * repeats; its nodes in preorder, "I feature threshold" and "L empty weights..."; and "P shares..."
 * for every row.
 */
public class DumpTrees {

  static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

  static Object read(Class<?> owner, String name, Object from) throws Exception {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(from);
  }

  static void write(ClassifierTree node, PrintWriter out) throws Exception {
    Distribution weights = node.getLocalModel().distribution();
    if ((Boolean) read(ClassifierTree.class, "m_isLeaf", node)) {
      out.print("L " + ((Boolean) read(ClassifierTree.class, "m_isEmpty", node) ? 1 : 0));
      for (int c = 0; c < weights.numClasses(); c++) {
        out.print(" " + weights.perClass(c));
      }
      out.println();
      return;
    }
    C45Split split = (C45Split) node.getLocalModel();
    out.println("I " + split.attIndex() + " " + read(C45Split.class, "m_splitPoint", split));
    for (ClassifierTree son : node.getSons()) {
      write(son, out);
    }
  }

  static Instances withTarget(Instances all, int features, int target) {
    ArrayList<Attribute> attributes = new ArrayList<>();
    for (int f = 0; f < features; f++) {
      attributes.add((Attribute) all.attribute(f).copy());
    }
    attributes.add((Attribute) all.attribute(target).copy());
    Instances data = new Instances("one", attributes, all.numInstances());
    data.setClassIndex(features);
    for (int i = 0; i < all.numInstances(); i++) {
      double[] values = Arrays.copyOf(all.instance(i).toDoubleArray(), features + 1);
      values[features] = all.instance(i).value(target);
      data.add(new DenseInstance(all.instance(i).weight(), values));
    }
    return data;
  }

  static void fit(Instances data, int repeats, String[] options, PrintWriter out)
      throws Exception {
    J48 tree = null;
    long least = Long.MAX_VALUE;
    for (int i = 0; i < repeats; i++) {
      tree = new J48();
      tree.setOptions(options.clone()); // which empties what it is given
      long started = CLOCK.getCurrentThreadCpuTime();
      tree.buildClassifier(data);
      least = Math.min(least, CLOCK.getCurrentThreadCpuTime() - started);
    }
    out.println("T " + least * 1e-9);
    write((ClassifierTree) read(J48.class, "m_root", tree), out);
    for (int i = 0; i < data.numInstances(); i++) {
      out.print("P");
      for (double share : tree.distributionForInstance(data.instance(i))) {
        out.print(" " + share);
      }
      out.println();
    }
  }

  public static void main(String[] arguments) throws Exception {
    for (String job : Files.readAllLines(Paths.get(arguments[0]))) {
      String[] words = job.split("\t");
      Instances all = new Instances(new BufferedReader(new FileReader(words[0])));
      int features = all.numAttributes() - Integer.parseInt(words[2]);
      try (PrintWriter out = new PrintWriter(words[1])) {
        for (int target = features; target < all.numAttributes(); target++) {
          Instances data = withTarget(all, features, target);
          fit(data, Integer.parseInt(words[3]), Arrays.copyOfRange(words, 4, words.length), out);
        }
      }
    }
  }
}
